//! Filters in the running kernel. A filter belongs to the thread that installed it, so every test that installs one uses
//! a thread of its own.

use std::io;

use callgate::Verdict;
use callgate_core::{Insn, Op, Program, Word};
use callgate_linux::{FilterFlags, install_unproved, kernel};
use callgate_testing::{Need, Skip, TestResult};

/// The tests of this module.
pub(crate) fn trials() -> Vec<callgate_testing::Trial> {
    callgate_testing::trials![
        a_denied_syscall_gets_its_errno,
        flags_are_accepted,
        a_flag_for_listeners_is_refused_without_one,
        a_filter_that_notifies_is_refused_without_a_listener,
        the_budget_of_a_task_is_explained,
        a_64_bit_process_reaches_the_32_bit_abi_with_64_bits,
    ]
}

/// `getppid` gets this verdict, everything else is allowed. The program ignores the architecture.
fn deny_getppid(verdict: Verdict) -> Program {
    Program::new(vec![
        Insn::new(Op::LdWordAbs, Word::NR.offset(callgate::Endian::Little)),
        Insn::branch(Op::JeqK, libc::SYS_getppid as u32, 0, 1),
        Insn::new(Op::RetK, verdict.0),
        Insn::new(Op::RetK, Verdict::ALLOW.0),
    ])
    .unwrap()
}

fn getppid() -> io::Result<i64> {
    // SAFETY: getppid takes no arguments and touches no memory.
    let result = unsafe { libc::syscall(libc::SYS_getppid) };
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(result) }
}

fn in_a_thread(test: impl FnOnce() + Send + 'static) {
    std::thread::spawn(test).join().unwrap();
}

fn a_denied_syscall_gets_its_errno() -> TestResult {
    in_a_thread(|| {
        assert!(getppid().is_ok());
        install_unproved(&deny_getppid(Verdict::errno(libc::EMFILE as u16)), FilterFlags::NONE)
            .unwrap();
        assert_eq!(getppid().unwrap_err().raw_os_error(), Some(libc::EMFILE));
        assert!(
            std::fs::read_to_string("/proc/thread-self/status").unwrap().contains("NoNewPrivs:\t1")
        );
    });
    assert!(getppid().is_ok(), "the filter is that of the thread");
    Ok(())
}

fn flags_are_accepted() -> TestResult {
    for flags in
        [FilterFlags::LOG, FilterFlags::SPEC_ALLOW, FilterFlags::LOG | FilterFlags::SPEC_ALLOW]
    {
        if !kernel::knows_flags(flags) {
            return Err(Skip::new(Need::Kernel, format!("unknown flags: {flags}")));
        }
        in_a_thread(move || {
            install_unproved(&deny_getppid(Verdict::errno(1)), flags).unwrap();
            assert_eq!(getppid().unwrap_err().raw_os_error(), Some(libc::EPERM));
        });
    }
    Ok(())
}

fn a_flag_for_listeners_is_refused_without_one() -> TestResult {
    let error = install_unproved(&deny_getppid(Verdict::ALLOW), FilterFlags::WAIT_KILLABLE_RECV)
        .unwrap_err();
    assert!(error.to_string().contains("needs a listener"), "{error}");
    Ok(())
}

fn a_filter_that_notifies_is_refused_without_a_listener() -> TestResult {
    let notifies = deny_getppid(Verdict::user_notif(0));
    let error = install_unproved(&notifies, FilterFlags::NONE).unwrap_err();
    assert!(error.to_string().contains("notifies a listener"), "{error}");
    assert!(error.help().contains("with a listener"), "{}", error.help());
    let (number, error) =
        callgate_linux::install_unproved_stack(&[deny_getppid(Verdict::ALLOW), notifies])
            .unwrap_err();
    assert_eq!((number, error.kind()), (1, std::io::ErrorKind::InvalidInput));
    assert!(getppid().is_ok(), "nothing was installed");
    Ok(())
}

fn the_budget_of_a_task_is_explained() -> TestResult {
    in_a_thread(|| {
        let mut insns = vec![Insn::new(Op::LdImm, 0); 4095];
        insns.push(Insn::new(Op::RetK, Verdict::ALLOW.0));
        let program = Program::new(insns).unwrap();
        let mut installed = 0;
        // As eBPF they are at least as long, so eight never fit.
        let error = loop {
            match install_unproved(&program, FilterFlags::NONE) {
                Ok(()) => installed += 1,
                Err(error) => break error,
            }
            assert!(installed < 8);
        };
        let text = error.to_string();
        assert!(text.contains("another 4096") && text.contains("32768"), "{text}");
        assert!(error.help().contains("merge"), "{}", error.help());
    });
    Ok(())
}

/// The filter sees the high half of a register, which the kernel ignores afterwards; so it is not dead on a 32-bit ABI.
#[cfg(target_arch = "x86_64")]
fn a_64_bit_process_reaches_the_32_bit_abi_with_64_bits() -> TestResult {
    use callgate::Arch;
    /// `getpgid` of i386.
    fn getpgid(pid: u64) -> i64 {
        let result: i64;
        // SAFETY: `getpgid` of the 32-bit ABI takes a number and touches no memory. LLVM reserves rbx.
        unsafe {
            std::arch::asm!("xchg {pid}, rbx", "int 0x80", "xchg {pid}, rbx", pid = inout(reg) pid => _,
                inlateout("rax") 132_i64 => result, out("r8") _, out("r9") _, out("r10") _, out("r11") _);
        }
        result
    }
    if getpgid(0) <= 0 {
        return Err(Skip::new(Need::Kernel, "without the 32-bit ABI of x86"));
    }
    let word = |word: Word| Insn::new(Op::LdWordAbs, word.offset(callgate::Endian::Little));
    let high_half_fails = Program::new(vec![
        word(Word::ARCH),
        Insn::branch(Op::JeqK, Arch::X86.token(), 0, 3),
        word(Word::arg_high(0).unwrap()),
        Insn::branch(Op::JeqK, 0, 1, 0),
        Insn::new(Op::RetK, Verdict::errno(libc::EMFILE as u16).0),
        Insn::new(Op::RetK, Verdict::ALLOW.0),
    ]);
    in_a_thread(|| {
        install_unproved(&high_half_fails.unwrap(), FilterFlags::NONE).unwrap();
        assert!(getpgid(0) > 0);
        assert_eq!(getpgid(1 << 32), -i64::from(libc::EMFILE));
    });
    // Without the filter, it is the same syscall.
    assert_eq!(getpgid(1 << 32), getpgid(0));
    Ok(())
}

#[cfg(not(target_arch = "x86_64"))]
fn a_64_bit_process_reaches_the_32_bit_abi_with_64_bits() -> TestResult {
    Err(Skip::new(Need::Kernel, "int 0x80 is of x86"))
}
