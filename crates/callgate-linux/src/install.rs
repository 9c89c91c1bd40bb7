//! Installing a filter.

use std::fmt;
use std::io;

use callgate::bpf::Program;
use libc::sock_filter;

use crate::budget::MAX_INSNS_PER_THREAD;
use crate::sys;
use crate::thread_status::ThreadStatus;
use callgate::bpf::FilterFlags;

/// Sets `no_new_privs` and installs a filter for the calling thread; with [`FilterFlags::TSYNC`] for all
/// threads of the process. It holds for everything that these threads start, and for good.
///
/// Uses `seccomp(2)`; on kernels before 3.17, and without flags, `prctl(PR_SET_SECCOMP)`.
///
/// # Errors
/// When the kernel refuses; then no filter was installed, but `no_new_privs` may be set.
pub fn install(program: &Program, flags: FilterFlags) -> Result<(), InstallError> {
    let error = |kind| Err(InstallError { kind });
    if flags.contains(FilterFlags::WAIT_KILLABLE_RECV) {
        return error(Kind::NeedsListener);
    }
    let code = code_of(program);
    if let Err(why) = sys::set_no_new_privs() {
        return error(Kind::NoNewPrivs(why));
    }
    let why = match sys::seccomp_set_filter(&code, flags.bits()) {
        Ok(0) => return Ok(()),
        Ok(thread) => return error(Kind::Thread(thread)),
        Err(why) => why,
    };
    match why.raw_os_error() {
        Some(libc::ENOSYS) if flags.is_empty() => match sys::prctl_set_filter(&code) {
            Ok(()) => Ok(()),
            Err(why) if why.raw_os_error() == Some(libc::EINVAL) => error(Kind::NoSeccomp),
            Err(why) => error(Kind::other(why, code.len())),
        },
        Some(libc::ENOSYS) => error(Kind::NoSyscall(flags)),
        Some(libc::EINVAL) => {
            let mut unknown = FilterFlags::NONE;
            for (flag, ..) in flags.each() {
                if !sys::seccomp_knows_flags(flag.bits()) {
                    unknown |= flag;
                }
            }
            if !sys::seccomp_knows_flags(FilterFlags::NONE.bits()) {
                error(Kind::NoSeccomp)
            } else if unknown.is_empty() {
                error(Kind::Program(why))
            } else {
                error(Kind::UnknownFlags(unknown))
            }
        }
        _ => error(Kind::other(why, code.len())),
    }
}

/// Installs filters on top of each other for the calling thread, the oldest first, as
/// [`install`] does without flags. Memory is allocated before the first, and as few calls as possible are
/// made after it: an older filter may deny what installs the next.
///
/// # Errors
/// The number of the first filter that the kernel refuses, and why. Those before it stay installed.
pub fn install_stack(programs: &[Program]) -> Result<(), (usize, io::Error)> {
    let codes: Vec<Vec<sock_filter>> = programs.iter().map(code_of).collect();
    if !codes.is_empty() {
        sys::set_no_new_privs().map_err(|why| (0, why))?;
    }
    for (number, code) in codes.iter().enumerate() {
        let first = sys::seccomp_set_filter(code, FilterFlags::NONE.bits());
        // An old kernel does not know the call, and an older filter may allow the other way alone.
        if let Err(why) = first {
            sys::prctl_set_filter(code).map_err(|_| (number, why))?;
        }
    }
    Ok(())
}

/// A program as the kernel takes it.
pub(crate) fn code_of(program: &Program) -> Vec<sock_filter> {
    let insns = program.iter();
    insns
        .map(|insn| sock_filter { code: insn.op.code(), jt: insn.jt, jf: insn.jf, k: insn.k })
        .collect()
}

/// Why a filter was not installed, and what to do about it.
#[derive(Debug)]
pub struct InstallError {
    kind: Kind,
}

#[derive(Debug)]
enum Kind {
    /// `WAIT_KILLABLE_RECV` without a listener.
    NeedsListener,
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

impl Kind {
    /// What an errno means that does not depend on the flags.
    fn other(why: io::Error, insns: usize) -> Kind {
        match why.raw_os_error() {
            Some(libc::EACCES) => Kind::Privileges(why),
            Some(libc::ENOMEM) => Kind::Memory { insns, installed: installed_filters() },
            _ => Kind::Other(why),
        }
    }
}

/// How many filters this thread has already (`Seccomp_filters` in `/proc`, Linux 5.9).
fn installed_filters() -> Option<usize> {
    ThreadStatus::of_this_thread()?.filters
}

impl InstallError {
    /// What an errno of `seccomp(2)` without flags means for a program of this length.
    pub(crate) fn of_errno(why: io::Error, insns: usize) -> InstallError {
        let kind = match why.raw_os_error() {
            Some(libc::EINVAL) => Kind::Program(why),
            _ => Kind::other(why, insns),
        };
        InstallError { kind }
    }

    /// What to do about it.
    pub fn help(&self) -> String {
        match &self.kind {
            Kind::NeedsListener => {
                "leave the flag out, or let a program with a listener install the filter".into()
            }
            Kind::NoNewPrivs(_) => "Linux 3.5 or later is needed".into(),
            Kind::Thread(_) => {
                "install the filter before threads start, or without SECCOMP_FILTER_FLAG_TSYNC"
                    .into()
            }
            Kind::NoSeccomp => {
                "a kernel with CONFIG_SECCOMP_FILTER is needed (zgrep SECCOMP /proc/config.gz)"
                    .into()
            }
            Kind::NoSyscall(_) => "leave the flags out; without them an older way works too".into(),
            Kind::UnknownFlags(_) => "leave these flags out, or run on a later kernel".into(),
            Kind::Program(_) => "please report this with the program (callgate disasm)".into(),
            Kind::Privileges(_) => {
                "the filter of a sandbox around this process may forbid it; look there".into()
            }
            Kind::Memory { .. } => {
                "install fewer filters, or merge them into one; `grep Seccomp_filters \
                 /proc/self/status` counts them"
                    .into()
            }
            Kind::Other(why) if why.raw_os_error() == Some(libc::EPERM) => {
                "the filter of a sandbox around this process may forbid seccomp(2); look there"
                    .into()
            }
            Kind::Other(_) => "look at seccomp(2) for what the kernel means".into(),
        }
    }
}

impl fmt::Display for InstallError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::NeedsListener => f.write_str(
                "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV needs a listener, and this filter has none",
            ),
            Kind::NoNewPrivs(why) => {
                write!(f, "no_new_privs cannot be set: {}", sys::error_text(why))
            }
            Kind::Thread(thread) => write!(
                f,
                "thread {thread} of this process has a filter of its own, so the filter cannot be \
                 installed in all threads"
            ),
            Kind::NoSeccomp => f.write_str("this kernel has no seccomp filters"),
            Kind::NoSyscall(flags) => write!(
                f,
                "the flags {flags} need seccomp(2), which this kernel lacks (it came with Linux 3.17) \
                 or a sandbox denies"
            ),
            Kind::UnknownFlags(flags) => {
                f.write_str("this kernel does not know ")?;
                for (i, (_, name, since)) in flags.each().enumerate() {
                    let comma = if i > 0 { ", " } else { "" };
                    write!(f, "{comma}SECCOMP_FILTER_FLAG_{name} (since Linux {since})")?;
                }
                Ok(())
            }
            Kind::Program(why) => {
                write!(f, "the kernel refuses the program: {}", sys::error_text(why))
            }
            Kind::Privileges(why) => write!(
                f,
                "the kernel wants no_new_privs or CAP_SYS_ADMIN, although no_new_privs is set: {}",
                sys::error_text(why)
            ),
            Kind::Memory { insns, installed } => {
                write!(
                    f,
                    "no room for another {insns} instructions: all filters of a task may have \
                     {MAX_INSNS_PER_THREAD} together, counted in the kernel's own longer form"
                )?;
                match installed {
                    Some(1) => f.write_str(", and 1 filter is there already"),
                    Some(number) => write!(f, ", and {number} filters are there already"),
                    None => Ok(()),
                }
            }
            Kind::Other(why) => {
                write!(f, "the filter cannot be installed: {}", sys::error_text(why))
            }
        }
    }
}

impl std::error::Error for InstallError {}
