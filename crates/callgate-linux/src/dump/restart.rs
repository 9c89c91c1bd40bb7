//! How a call goes on that the stop of its thread interrupted.
//!
//! A call that sleeps for a time (`nanosleep`, `poll`, a timed `futex`) ends with `ERESTART_RESTARTBLOCK`
//! then, and the kernel goes on with `restart_syscall` in its place. Filters judge that as any other call,
//! and many do not know it: they would deny the sleep its end, or kill. Where one of them does not permit
//! it, the call begins anew instead, with all of its time.
//!
//! Limits: x86-64, with x86 and x32 on it; a 64-bit program that calls by `int 0x80` is taken for one that
//! does not.
//!
//! Source: `arch/x86/kernel/signal.c`, `arch_do_signal_or_restart`, `handle_signal` and
//! `get_nr_restart_syscall`; `include/linux/errno.h`.

use callgate::bpf::Program;
use callgate::{Arch, Endian, SeccompData};
use libc::user_regs_struct as Registers;

/// The call goes on as `restart_syscall`.
const ERESTART_RESTARTBLOCK: u64 = -516_i64 as u64;
/// The call begins anew, or fails with EINTR when a handler of a signal runs first, as it would have.
const ERESTARTNOHAND: u64 = -514_i64 as u64;

/// The code segment of 32-bit programs (`__USER32_CS`).
const CODE_OF_32_BITS: u64 = 0x23;

/// `__X32_SYSCALL_BIT`.
const X32: u64 = 0x4000_0000;

/// What `rax` must be for a thread with these filters to go on, if that is not what it is. Without
/// filters it is not known what they permit.
pub(super) fn result<'p>(
    registers: &Registers,
    filters: Option<impl IntoIterator<Item = &'p Program>>,
) -> Option<u64> {
    if registers.rax != ERESTART_RESTARTBLOCK {
        return None;
    }
    let data = restart(registers);
    let permits = |program: &Program| program.run(&data, Endian::Little).verdict.permits();
    let is_permitted = filters.is_some_and(|filters| filters.into_iter().all(permits));
    (!is_permitted).then_some(ERESTARTNOHAND)
}

/// What filters see of the `restart_syscall`.
fn restart(registers: &Registers) -> SeccompData {
    let Registers { rdi, rsi, rdx, r10, r8, r9, rbx, rcx, rbp, .. } = *registers;
    let (arch, nr, args) = if registers.cs == CODE_OF_32_BITS {
        let args = [rbx, rcx, rdx, rsi, rdi, rbp].map(|arg| u64::from(arg as u32));
        (Arch::X86, 0, args)
    } else {
        let nr = libc::SYS_restart_syscall as u32 | (registers.orig_rax & X32) as u32;
        (Arch::X86_64, nr, [rdi, rsi, rdx, r10, r8, r9])
    };
    SeccompData { arch: arch.token(), nr, instruction_pointer: registers.rip, args }
}

#[cfg(test)]
mod tests {
    use callgate::Verdict;
    use callgate::bpf::{Insn, Op};

    use super::*;

    fn registers(rax: i64, cs: u64, orig_rax: u64) -> Registers {
        // SAFETY: numbers, of which any may be 0.
        let zero: Registers = unsafe { std::mem::zeroed() };
        Registers { rax: rax as u64, cs, orig_rax, rip: 0x1234, rdi: 7, rbx: 1 << 32 | 9, ..zero }
    }

    /// Permits one value of a word.
    fn only(offset: u32, value: u32) -> Program {
        Program::new(vec![
            Insn::new(Op::LdWordAbs, offset),
            Insn::branch(Op::JeqK, value, 0, 1),
            Insn::new(Op::RetK, Verdict::LOG.0),
            Insn::new(Op::RetK, Verdict::KILL_PROCESS.0),
        ])
        .unwrap()
    }

    #[test]
    fn a_call_begins_anew_where_a_filter_denies_that_it_goes_on() {
        let anew = Some(ERESTARTNOHAND);
        let of = |registers: &Registers, filters: &[Program]| result(registers, Some(filters));
        let sleeps = registers(-516, 0x33, 35);
        let all = Program::new(vec![Insn::new(Op::RetK, Verdict::ALLOW.0)]).unwrap();
        assert_eq!(of(&sleeps, &[all.clone(), only(0, 219)]), None);
        assert_eq!(of(&sleeps, &[only(0, 35), all.clone()]), anew);
        assert_eq!(of(&sleeps, &[all.clone(), only(0, 35)]), anew);
        assert_eq!(result(&sleeps, None::<&[Program]>), anew);
        // The rest of what filters see.
        for (offset, value) in [(4, Arch::X86_64.token()), (8, 0x1234), (16, 7)] {
            assert_eq!(of(&sleeps, &[only(offset, value)]), None, "{offset}");
        }
        for (cs, nr, token, arg) in
            [(0x33, 0x4000_00db, Arch::X86_64.token(), 7), (0x23, 0, Arch::X86.token(), 9)]
        {
            let sleeps = registers(-516, cs, if cs == 0x33 { 0x4000_0023 } else { 162 });
            let filters = [only(0, nr), only(4, token), only(16, arg), only(20, 0)];
            assert_eq!(of(&sleeps, &filters), None, "{cs:#x}");
        }
        // Nothing was interrupted, or it goes on as itself.
        for rax in [0, -4, -512, -513, -514] {
            assert_eq!(of(&registers(rax, 0x33, 35), &[only(0, 35)]), None, "{rax}");
        }
    }
}
