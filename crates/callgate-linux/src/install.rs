//! Installs filters, within the kernel's limit on the total length of the filters of a thread.
//!
//! The kernel counts instructions of eBPF, into which it translates every filter on installation, plus four for each
//! filter that is already installed.
//!
//! Sources: `kernel/seccomp.c`, `seccomp_attach_filter` (`MAX_INSNS_PER_PATH` and the four);
//! `net/core/filter.c`, `bpf_convert_filter` (the translation since Linux 4.14; before, a few
//! jumps took one instruction more). With `net.core.bpf_jit_harden` constants are blinded, and programs get longer.

use std::{fmt, io};

use callgate::{Proved, needs_listener};
use callgate_bpf::FilterFlags;
use callgate_core::{Insn, Op, Program};
use libc::sock_filter;

use crate::sys;
use crate::thread_status::ThreadStatus;

/// Why a filter with USER_NOTIF is not installed.
const NOTIFIES: &str = "this filter notifies a listener (USER_NOTIF), and without one the kernel fails these syscalls with \
                        ENOSYS";

/// Sets `no_new_privs` and installs a filter for the calling thread; with [`FilterFlags::TSYNC`], for all
/// threads of the process. Threads and processes that they start inherit it. It cannot be removed.
///
/// Uses `seccomp(2)`, or `prctl(PR_SET_SECCOMP)` on kernels before 3.17 if there are no flags.
///
/// # Errors
/// If the program notifies a listener (USER_NOTIF), because this function keeps none; then nothing was changed. If the kernel
/// refuses; then no filter was installed, but `no_new_privs` may be set.
pub fn install(program: &Proved, flags: FilterFlags) -> Result<(), InstallError> {
    install_unproved(program, flags)
}

/// As [`install`], for a program of which nothing is proved: it does what it does.
///
/// # Errors
/// As [`install`].
pub fn install_unproved(program: &Program, flags: FilterFlags) -> Result<(), InstallError> {
    let error = |kind| Err(InstallError { kind });
    if flags.contains(FilterFlags::WAIT_KILLABLE_RECV) {
        return error(InstallErrorKind::NeedsListener);
    }
    if needs_listener(program.insns()) {
        return error(InstallErrorKind::Notifies);
    }
    let code = code_of(program);
    if let Err(why) = sys::set_no_new_privs() {
        return error(InstallErrorKind::NoNewPrivs(why));
    }
    let why = match sys::seccomp_set_filter(&code, flags.bits()) {
        Ok(0) => return Ok(()),
        Ok(thread) => return error(InstallErrorKind::Thread(thread)),
        Err(why) => why,
    };
    match why.raw_os_error() {
        Some(libc::ENOSYS) if flags.is_empty() => match sys::prctl_set_filter(&code) {
            Ok(()) => Ok(()),
            Err(why) if why.raw_os_error() == Some(libc::EINVAL) => {
                error(InstallErrorKind::NoSeccomp)
            }
            Err(why) => error(InstallErrorKind::other(why, code.len())),
        },
        Some(libc::ENOSYS) => error(InstallErrorKind::NoSyscall(flags)),
        Some(libc::EINVAL) => {
            let mut unknown = FilterFlags::NONE;
            for (flag, ..) in flags.each() {
                if !sys::seccomp_knows_flags(flag.bits()) {
                    unknown |= flag;
                }
            }
            if !sys::seccomp_knows_flags(FilterFlags::NONE.bits()) {
                error(InstallErrorKind::NoSeccomp)
            } else if unknown.is_empty() {
                error(InstallErrorKind::Program(why))
            } else {
                error(InstallErrorKind::UnknownFlags(unknown))
            }
        }
        _ => error(InstallErrorKind::other(why, code.len())),
    }
}

/// Installs several filters for the calling thread, the first one first, like [`install_unproved`] without flags. Allocates
/// memory before the first and makes as few syscalls as possible afterwards, because each filter may deny the
/// syscall that installs the next one.
///
/// # Errors
/// The index of the first filter that the kernel refuses, or that notifies a listener (EINVAL), and the reason. The filters before it stay installed.
pub fn install_unproved_stack(programs: &[Program]) -> Result<(), (usize, io::Error)> {
    install_all(programs, FilterFlags::NONE)
}

/// The same for all threads of the process, none of which may have a filter of its own.
///
/// # Errors
/// As for [`install_unproved_stack`]; ESRCH if a thread has another filter.
pub fn install_unproved_stack_in_all_threads(
    programs: &[Program],
) -> Result<(), (usize, io::Error)> {
    install_all(programs, FilterFlags::TSYNC)
}

/// Installs filters, the last one with these flags: with TSYNC, other threads get those before it, too.
fn install_all(programs: &[Program], last: FilterFlags) -> Result<(), (usize, io::Error)> {
    if let Some(number) = programs.iter().position(|program| needs_listener(program.insns())) {
        return Err((number, io::Error::new(io::ErrorKind::InvalidInput, NOTIFIES)));
    }
    let codes: Vec<Vec<sock_filter>> = programs.iter().map(code_of).collect();
    if !codes.is_empty() {
        sys::set_no_new_privs().map_err(|why| (0, why))?;
    }
    for (number, code) in codes.iter().enumerate() {
        let flags = if number + 1 == codes.len() { last } else { FilterFlags::NONE };
        match sys::seccomp_set_filter(code, flags.bits()) {
            Ok(0) => {}
            // The thread that could not be synchronised.
            Ok(_) => return Err((number, io::Error::from_raw_os_error(libc::ESRCH))),
            // An old kernel does not know the syscall, and a filter may allow only prctl(2).
            Err(why) if flags.is_empty() => {
                sys::prctl_set_filter(code).map_err(|_| (number, why))?;
            }
            Err(why) => return Err((number, why)),
        }
    }
    Ok(())
}

/// A program in the kernel's encoding.
pub(crate) fn code_of(program: &Program) -> Vec<sock_filter> {
    let insns = program.iter();
    insns
        .map(|insn| sock_filter { code: insn.op.code(), jt: insn.jt, jf: insn.jf, k: insn.k })
        .collect()
}

/// Why a filter was not installed, and what to do about it.
#[derive(Debug)]
pub struct InstallError {
    kind: InstallErrorKind,
}

#[derive(Debug)]
enum InstallErrorKind {
    /// `WAIT_KILLABLE_RECV` without a listener.
    NeedsListener,
    /// USER_NOTIF without a listener.
    Notifies,
    NoNewPrivs(io::Error),
    /// TSYNC: this thread has another filter or is in strict mode.
    Thread(i32),
    NoSeccomp,
    NoSyscall(FilterFlags),
    UnknownFlags(FilterFlags),
    Program(io::Error),
    Privileges(io::Error),
    Memory {
        insns: usize,
        installed: Option<usize>,
    },
    Other(io::Error),
}

impl InstallErrorKind {
    /// The error for an errno that does not depend on flags.
    fn other(why: io::Error, insns: usize) -> InstallErrorKind {
        match why.raw_os_error() {
            Some(libc::EACCES) => InstallErrorKind::Privileges(why),
            Some(libc::ENOMEM) => {
                InstallErrorKind::Memory { insns, installed: installed_filters() }
            }
            _ => InstallErrorKind::Other(why),
        }
    }
}

/// How many filters this thread has (`Seccomp_filters` in `/proc`, Linux 5.9).
fn installed_filters() -> Option<usize> {
    ThreadStatus::of_this_thread()?.filters
}

impl InstallError {
    /// The error for an errno of `seccomp(2)` without flags, for a program of this length.
    pub(crate) fn of_errno(why: io::Error, insns: usize) -> InstallError {
        let kind = match why.raw_os_error() {
            Some(libc::EINVAL) => InstallErrorKind::Program(why),
            _ => InstallErrorKind::other(why, insns),
        };
        InstallError { kind }
    }

    /// The error number of the kernel, or the nearest one if the kernel gave none.
    pub fn errno(&self) -> i32 {
        match &self.kind {
            InstallErrorKind::NoNewPrivs(why)
            | InstallErrorKind::Program(why)
            | InstallErrorKind::Privileges(why)
            | InstallErrorKind::Other(why) => why.raw_os_error().unwrap_or(libc::EINVAL),
            InstallErrorKind::NeedsListener
            | InstallErrorKind::Notifies
            | InstallErrorKind::NoSeccomp
            | InstallErrorKind::UnknownFlags(_) => libc::EINVAL,
            InstallErrorKind::Thread(_) => libc::ESRCH,
            InstallErrorKind::NoSyscall(_) => libc::ENOSYS,
            InstallErrorKind::Memory { .. } => libc::ENOMEM,
        }
    }

    /// What to do about it.
    pub fn help(&self) -> String {
        self.texts().1
    }

    /// What is wrong, and what to do about it.
    fn texts(&self) -> (String, String) {
        let texts = |message: &str, help: &str| (message.to_owned(), help.to_owned());
        let sandbox = |denied: &str| {
            format!(
                "the filter of a sandbox around this process may deny {denied}; check the policy of the sandbox"
            )
        };
        match &self.kind {
            InstallErrorKind::NeedsListener => texts(
                "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV needs a listener, and this filter has none",
                "omit the flag, or install the filter from a program that has a listener",
            ),
            InstallErrorKind::Notifies => texts(
                NOTIFIES,
                "give its instructions to seccomp(2) with SECCOMP_FILTER_FLAG_NEW_LISTENER, which returns the listener, or \
                 use another action",
            ),
            InstallErrorKind::NoNewPrivs(why) => texts(
                &format!("no_new_privs cannot be set: {}", sys::error_text(why)),
                "use Linux 3.5 or later",
            ),
            InstallErrorKind::Thread(thread) => texts(
                &format!(
                    "thread {thread} of this process has a filter of its own, so the filter cannot be installed in all \
                     threads"
                ),
                "install the filter before starting threads, or without SECCOMP_FILTER_FLAG_TSYNC",
            ),
            InstallErrorKind::NoSeccomp => texts(
                "this kernel has no seccomp filters",
                "use a kernel with CONFIG_SECCOMP_FILTER (zgrep SECCOMP /proc/config.gz)",
            ),
            InstallErrorKind::NoSyscall(flags) => texts(
                &format!(
                    "the flags {flags} need seccomp(2), which this kernel lacks (it came with Linux 3.17) or a sandbox \
                     denies"
                ),
                "omit the flags; prctl(2) works without them",
            ),
            InstallErrorKind::UnknownFlags(flags) => {
                let flag =
                    |(_, name, since)| format!("SECCOMP_FILTER_FLAG_{name} (since Linux {since})");
                let flags: Vec<String> = flags.each().map(flag).collect();
                let message = format!("this kernel does not know {}", flags.join(", "));
                texts(&message, "omit these flags, or use a newer kernel")
            }
            InstallErrorKind::Program(why) => texts(
                &format!("the kernel refuses the program: {}", sys::error_text(why)),
                "please report this with the program (callgate disasm)",
            ),
            InstallErrorKind::Privileges(why) => texts(
                &format!(
                    "the kernel requires no_new_privs or CAP_SYS_ADMIN, although no_new_privs is set: {}",
                    sys::error_text(why)
                ),
                &sandbox("it"),
            ),
            InstallErrorKind::Memory { insns, installed } => {
                let installed = match installed {
                    Some(1) => "; 1 filter is already installed".to_owned(),
                    Some(number) => format!("; {number} filters are already installed"),
                    None => String::new(),
                };
                texts(
                    &format!(
                        "no room for another {insns} instructions: all filters of a thread together have at most \
                         {MAX_INSNS_PER_THREAD}, counted as eBPF{installed}"
                    ),
                    "install fewer filters, or merge them into one; `grep Seccomp_filters /proc/self/status` counts them",
                )
            }
            InstallErrorKind::Other(why) => {
                let message = format!("the filter cannot be installed: {}", sys::error_text(why));
                match why.raw_os_error() {
                    Some(libc::EPERM) => texts(&message, &sandbox("seccomp(2)")),
                    _ => texts(&message, "see seccomp(2) for the meaning of this error"),
                }
            }
        }
    }
}

impl fmt::Display for InstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.texts().0)
    }
}

impl std::error::Error for InstallError {}

/// The maximum for all filters of a thread together (`MAX_INSNS_PER_PATH`).
pub const MAX_INSNS_PER_THREAD: usize = 32_768;

/// Added for each filter but the newest.
const PER_FILTER: usize = 4;

/// Instructions that the kernel puts before every program: it clears two registers and copies a third.
const PROLOGUE: usize = 3;

/// The number of eBPF instructions to which the kernel translates a program.
///
/// ```
/// use callgate::Verdict;
/// use callgate_core::{Insn, Op, Program};
///
/// let program = Program::new(vec![Insn::new(Op::RetK, Verdict::ALLOW.0)])?;
/// assert_eq!(callgate_linux::kernel_insns(&program), 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn kernel_insns(program: &Program) -> usize {
    PROLOGUE + program.iter().map(translated).sum::<usize>()
}

/// How much of [`MAX_INSNS_PER_THREAD`] filters use, given the number of eBPF instructions of each.
pub fn budget_used(kernel_insns: impl IntoIterator<Item = usize>) -> usize {
    let counted = kernel_insns.into_iter().map(|insns| insns + PER_FILTER);
    counted.sum::<usize>().saturating_sub(PER_FILTER)
}

/// The number of eBPF instructions for one instruction.
fn translated(insn: &Insn) -> usize {
    match insn.op {
        Op::RetK => 2,
        // Returns 0 if X is zero: three instructions and the return.
        Op::DivX => 5,
        op if op.is_branch() => {
            // A constant above the signed 32-bit range needs a register.
            let constant = matches!(op, Op::JeqK | Op::JgtK | Op::JgeK | Op::JsetK);
            let wide = usize::from(constant && insn.k > i32::MAX as u32);
            let inverted = insn.jt == 0 && !matches!(op, Op::JsetK | Op::JsetX);
            wide + if insn.jf == 0 || inverted { 1 } else { 2 }
        }
        _ => 1,
    }
}
