//! Why a filter was not installed, and what to do about it.

use std::{fmt, io};

use callgate_bpf::FilterFlags;
use callgate_core::Arch;

use super::budget::MAX_INSNS_PER_THREAD;
use crate::sys;
use crate::thread_status::ThreadStatus;

/// Why a filter with USER_NOTIF is not installed.
pub(super) const NOTIFIES: &str = "this filter notifies a listener (USER_NOTIF), and without one the kernel fails these syscalls with \
                        ENOSYS";

/// Why a filter was not installed.
///
/// ```
/// use callgate::{Arch, Filter, Verdict};
/// use callgate_linux::{FilterFlags, InstallErrorKind, install};
///
/// let machine = Arch::native().ok_or("an unknown machine")?;
/// let program = Filter::builder(machine).default(Verdict::user_notif(0)).build()?.compile()?;
/// let error = install(&program, FilterFlags::NONE).unwrap_err();
/// assert!(matches!(error.kind(), InstallErrorKind::Notifies));
/// assert_eq!(error.errno(), libc::ENOTSUP);
/// assert_eq!(error.help(), "install it with a listener, or use another action");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct InstallError {
    kind: InstallErrorKind,
}

/// What is wrong.
#[derive(Debug)]
#[non_exhaustive]
pub enum InstallErrorKind {
    /// The filter notifies a listener (USER_NOTIF), but is to be installed without one.
    Notifies,
    /// The filter never notifies, but is to be installed with a listener, which would wait for ever.
    NeverNotifies,
    /// The flag `WAIT_KILLABLE_RECV` is for a filter with a listener.
    NeedsListener,
    /// The filter is for other architectures and denies the syscalls of this process; see
    /// [`check_machine`](crate::check_machine).
    OtherMachine {
        /// The architectures of the filter.
        arches: Vec<Arch>,
        /// The architecture of this process.
        machine: Arch,
    },
    /// `no_new_privs` cannot be set.
    NoNewPrivs {
        /// The error of prctl(2).
        why: io::Error,
    },
    /// The thread has neither `no_new_privs` nor CAP_SYS_ADMIN (EACCES).
    Privileges {
        /// The error of seccomp(2).
        why: io::Error,
        /// Whether this installation set `no_new_privs`.
        no_new_privs: bool,
    },
    /// With TSYNC: a thread has filters of its own, or is in strict mode. No thread has the filter.
    Thread {
        /// Its ID, unless there is a listener.
        thread: Option<i32>,
    },
    /// Another filter of the thread has a listener (EBUSY).
    SecondListener,
    /// The kernel has no seccomp filters.
    NoSeccomp,
    /// seccomp(2) is missing or denied, and flags or a listener need it.
    NoSyscall {
        /// The flags.
        flags: FilterFlags,
        /// Whether there is to be a listener.
        listener: bool,
    },
    /// The kernel is too old for flags.
    UnknownFlags {
        /// The flags of the installer that it does not know.
        flags: FilterFlags,
        /// The flag that it does not know and that a listener needs, with the first version that has it; then `flags` is empty.
        listener: Option<&'static str>,
    },
    /// The filters of the thread are too long together (ENOMEM).
    Memory {
        /// The instructions of this filter.
        insns: usize,
        /// How many filters the thread has, if the kernel shows it.
        installed: Option<usize>,
    },
    /// The kernel refuses the program.
    Program {
        /// The error of seccomp(2).
        why: io::Error,
    },
    /// Another error.
    Other {
        /// The error of seccomp(2).
        why: io::Error,
    },
}

impl InstallErrorKind {
    /// The error for an errno that does not depend on flags.
    pub(super) fn other(why: io::Error, insns: usize, no_new_privs: bool) -> InstallErrorKind {
        match why.raw_os_error() {
            Some(libc::EACCES) => InstallErrorKind::Privileges { why, no_new_privs },
            Some(libc::ENOMEM) => {
                InstallErrorKind::Memory { insns, installed: installed_filters() }
            }
            _ => InstallErrorKind::Other { why },
        }
    }

    /// The error of the kernel.
    fn why(&self) -> Option<&io::Error> {
        match self {
            InstallErrorKind::NoNewPrivs { why }
            | InstallErrorKind::Privileges { why, .. }
            | InstallErrorKind::Program { why }
            | InstallErrorKind::Other { why } => Some(why),
            _ => None,
        }
    }
}

impl From<InstallErrorKind> for InstallError {
    fn from(kind: InstallErrorKind) -> InstallError {
        InstallError { kind }
    }
}

/// How many filters this thread has (`Seccomp_filters` in `/proc`, Linux 5.9).
fn installed_filters() -> Option<usize> {
    ThreadStatus::of_this_thread()?.filters
}

impl InstallError {
    /// The error for an errno of `seccomp(2)` without flags, for a program of this length, after `no_new_privs` was set.
    pub(crate) fn of_errno(why: io::Error, insns: usize) -> InstallError {
        InstallError {
            kind: match why.raw_os_error() {
                Some(libc::EINVAL) => InstallErrorKind::Program { why },
                _ => InstallErrorKind::other(why, insns, true),
            },
        }
    }

    /// What is wrong.
    pub fn kind(&self) -> &InstallErrorKind {
        &self.kind
    }

    /// The error number of the kernel, or the nearest one if the kernel gave none.
    pub fn errno(&self) -> i32 {
        if let Some(errno) = self.kind.why().and_then(io::Error::raw_os_error) {
            return errno;
        }
        match &self.kind {
            InstallErrorKind::Notifies => libc::ENOTSUP,
            InstallErrorKind::Thread { .. } => libc::ESRCH,
            InstallErrorKind::SecondListener => libc::EBUSY,
            InstallErrorKind::NoSyscall { .. } => libc::ENOSYS,
            InstallErrorKind::Memory { .. } => libc::ENOMEM,
            _ => libc::EINVAL,
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
            InstallErrorKind::Notifies => {
                texts(NOTIFIES, "install it with a listener, or use another action")
            }
            InstallErrorKind::NeverNotifies => texts(
                "this filter never notifies a listener (USER_NOTIF)",
                "install it without a listener",
            ),
            InstallErrorKind::NeedsListener => texts(
                "SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV needs a listener, and this filter is installed without one",
                "remove the flag, which may be in the policy, or let a rule notify and install the filter with a listener",
            ),
            InstallErrorKind::OtherMachine { arches, machine } => {
                let names: Vec<&str> = arches.iter().map(|arch| arch.name()).collect();
                let names = names.join(", ");
                texts(
                    &format!("the filter is for {names}, but this process is for {machine}"),
                    &format!(
                        "compile it for {machine}; it would deny every syscall of this process"
                    ),
                )
            }
            InstallErrorKind::NoNewPrivs { why } => texts(
                &format!("no_new_privs cannot be set: {}", sys::error_text(why)),
                &match why.raw_os_error() {
                    Some(libc::EINVAL) => "use Linux 3.5 or later".to_owned(),
                    _ => sandbox("prctl(2)"),
                },
            ),
            InstallErrorKind::Privileges { no_new_privs: false, .. } => texts(
                "the kernel requires no_new_privs, or CAP_SYS_ADMIN in the user namespace",
                "set no_new_privs, or install the filter before CAP_SYS_ADMIN is dropped",
            ),
            InstallErrorKind::Privileges { why, no_new_privs: true } => texts(
                &format!(
                    "the kernel requires no_new_privs or CAP_SYS_ADMIN, although no_new_privs is set: {}",
                    sys::error_text(why)
                ),
                &sandbox("it"),
            ),
            InstallErrorKind::Thread { thread } => {
                let thread =
                    thread.map_or("a thread".to_owned(), |thread| format!("thread {thread}"));
                texts(
                    &format!(
                        "{thread} of this process has a filter of its own, so the filter cannot be installed in all \
                         threads"
                    ),
                    "install the filter before starting threads, or without SECCOMP_FILTER_FLAG_TSYNC",
                )
            }
            InstallErrorKind::SecondListener => texts(
                "this thread already has a filter with a listener, and the kernel allows one",
                "let that listener decide about all syscalls, or use another action",
            ),
            InstallErrorKind::NoSeccomp => texts(
                "this kernel has no seccomp filters",
                "use a kernel with CONFIG_SECCOMP_FILTER (zgrep SECCOMP /proc/config.gz)",
            ),
            InstallErrorKind::NoSyscall { flags, listener } => {
                let what = match (listener, flags.is_empty()) {
                    (true, _) => "a listener needs".to_owned(),
                    (false, false) => format!("the flags {flags} need"),
                    (false, true) => "the filter needs".to_owned(),
                };
                let help = match listener {
                    true => {
                        "use Linux 5.0 or later, and check the policy of a sandbox around this process"
                    }
                    false => "omit the flags; prctl(2) works without them",
                };
                let message = format!(
                    "{what} seccomp(2), which this kernel lacks (it came with Linux 3.17) or a sandbox denies"
                );
                texts(&message, help)
            }
            InstallErrorKind::UnknownFlags { flags, listener } => {
                let flag =
                    |(_, name, since)| format!("SECCOMP_FILTER_FLAG_{name} (since Linux {since})");
                let names = flags.each().map(flag).chain(listener.map(str::to_owned));
                let names: Vec<String> = names.collect();
                let message = format!("this kernel does not know {}", names.join(", "));
                let help = match listener {
                    Some(_) => {
                        "use a newer kernel: the listener needs this flag (without TSYNC, Linux 5.0 is enough)"
                    }
                    None => "omit these flags, or use a newer kernel",
                };
                texts(&message, help)
            }
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
            InstallErrorKind::Program { why } => texts(
                &format!("the kernel refuses the program: {}", sys::error_text(why)),
                "please report this with the instructions of the program",
            ),
            InstallErrorKind::Other { why } => {
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

impl std::error::Error for InstallError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.kind.why().map(|why| why as &(dyn std::error::Error + 'static))
    }
}
