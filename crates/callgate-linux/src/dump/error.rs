//! Errors of [`dump`](super::dump).

use std::fmt;
use std::io;
use std::time::Duration;

use crate::sys::error_text;
use crate::thread_status::ThreadStatus;

/// Why the filters of a thread could not be read, and what to do about it.
#[derive(Debug)]
pub struct DumpError {
    tid: u32,
    kind: DumpErrorKind,
}

#[derive(Debug)]
pub(super) enum DumpErrorKind {
    /// There is no such thread.
    Gone,
    /// It ended meanwhile.
    Ended,
    Zombie,
    KernelThread,
    /// It belongs to the calling process.
    Own,
    /// The calling thread has a filter.
    OwnFilter,
    Strict,
    /// Tracing it is denied.
    NotPermitted,
    TracedBy {
        tracer: u32,
        name: String,
    },
    NoCapability,
    /// A kernel without CONFIG_CHECKPOINT_RESTORE.
    NotBuiltIn,
    /// A filter that was not installed as classic BPF.
    OtherForm,
    Unreadable {
        filter: usize,
    },
    Late(Duration),
    Uninterruptible(Duration),
    /// `/proc` does not list the other threads of the process.
    Threads(io::Error),
    Other(io::Error),
}

impl DumpErrorKind {
    /// What an errno of `ptrace(2)` means for a request that traces, stops or resumes a thread.
    pub(super) fn of_errno(why: io::Error) -> DumpErrorKind {
        match why.raw_os_error() {
            Some(libc::ESRCH) => DumpErrorKind::Gone,
            Some(libc::EPERM | libc::EACCES) => DumpErrorKind::NotPermitted,
            _ => DumpErrorKind::Other(why),
        }
    }

    /// What it means for a request that reads a filter.
    pub(super) fn of_reading(why: io::Error) -> DumpErrorKind {
        match why.raw_os_error() {
            Some(libc::ESRCH) => DumpErrorKind::Ended,
            Some(libc::EACCES | libc::EPERM) => DumpErrorKind::NoCapability,
            Some(libc::EINVAL | libc::EIO) => DumpErrorKind::NotBuiltIn,
            Some(libc::EMEDIUMTYPE) => DumpErrorKind::OtherForm,
            _ => DumpErrorKind::Other(why),
        }
    }

    /// The same with what `/proc` says about the thread.
    pub(super) fn with(self, tid: u32) -> DumpErrorKind {
        let status = ThreadStatus::of(tid);
        match (self, status) {
            (DumpErrorKind::NotPermitted, Ok(ThreadStatus { tracer: tracer @ 1.., .. })) => {
                let name = ThreadStatus::of(tracer).map(|status| status.name).unwrap_or_default();
                DumpErrorKind::TracedBy { tracer, name }
            }
            (DumpErrorKind::NotPermitted, Ok(ThreadStatus { has_ended: true, .. })) => {
                DumpErrorKind::Zombie
            }
            (DumpErrorKind::Gone, _) => DumpErrorKind::Ended,
            (DumpErrorKind::Late(patience), Ok(ThreadStatus { is_uninterruptible: true, .. })) => {
                DumpErrorKind::Uninterruptible(patience)
            }
            (kind, _) => kind,
        }
    }
}

impl DumpError {
    pub(super) fn new(tid: u32, kind: DumpErrorKind) -> DumpError {
        DumpError { tid, kind }
    }

    /// What to do about it.
    pub fn help(&self) -> String {
        match &self.kind {
            DumpErrorKind::Gone => "`ps -eL` lists processes and threads".into(),
            DumpErrorKind::Ended => "try again with a process that runs longer".into(),
            DumpErrorKind::Zombie => {
                format!("other threads of the process may still run: ls /proc/{}/task", self.tid)
            }
            DumpErrorKind::KernelThread => "give the PID of a user-space process".into(),
            DumpErrorKind::Own => "run `callgate dump PID` from a second shell".into(),
            DumpErrorKind::OwnFilter => {
                "run callgate outside of the sandbox or container that it is in now".into()
            }
            DumpErrorKind::Strict => {
                "strict mode allows read, write, _exit and rt_sigreturn only".into()
            }
            DumpErrorKind::NotPermitted => {
                "run as root: sudo callgate …; security modules (Yama, SELinux, AppArmor) may \
                 restrict ptrace further"
                    .into()
            }
            DumpErrorKind::TracedBy { .. } => {
                "a thread has at most one tracer: end that one first (strace, gdb), or choose \
                 another thread"
                    .into()
            }
            DumpErrorKind::NoCapability => {
                "run as root, outside of user namespaces and containers: sudo callgate …".into()
            }
            DumpErrorKind::NotBuiltIn => {
                "use a kernel with CONFIG_CHECKPOINT_RESTORE=y, as most distributions have it \
                 (zgrep CHECKPOINT_RESTORE /proc/config.gz)"
                    .into()
            }
            DumpErrorKind::OtherForm | DumpErrorKind::Unreadable { .. } => {
                "`bpftool prog` may show it as eBPF".into()
            }
            DumpErrorKind::Late(_) | DumpErrorKind::Uninterruptible(_) => {
                "the thread was not changed; try again when it has left the kernel \
                 (ps -o stat,wchan)"
                    .into()
            }
            DumpErrorKind::Threads(_) => {
                "no filters are shown, because threads with other filters might be missing".into()
            }
            DumpErrorKind::Other(_) => "see ptrace(2) for the meaning of this error".into(),
        }
    }
}

impl fmt::Display for DumpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            DumpErrorKind::Gone => f.write_str("no such process or thread"),
            DumpErrorKind::Ended => f.write_str("the thread ended before its filters were read"),
            DumpErrorKind::Zombie => {
                f.write_str("the thread has ended and waits for its parent (a zombie)")
            }
            DumpErrorKind::KernelThread => {
                f.write_str("this is a kernel thread, which has no filters")
            }
            DumpErrorKind::Own => {
                f.write_str("this is callgate itself, and a process cannot trace itself")
            }
            DumpErrorKind::OwnFilter => f.write_str(
                "callgate itself runs under a filter, and the kernel shows filters only to \
                 processes without one",
            ),
            DumpErrorKind::Strict => {
                f.write_str("the thread is in seccomp strict mode, which has no filter to read")
            }
            DumpErrorKind::NotPermitted => {
                f.write_str("the process cannot be traced: permission denied")
            }
            DumpErrorKind::TracedBy { tracer, name } => {
                write!(f, "the thread is already traced by process {tracer} ({name})")
            }
            DumpErrorKind::NoCapability => {
                f.write_str("the kernel shows filters only to processes with CAP_SYS_ADMIN")
            }
            DumpErrorKind::NotBuiltIn => f.write_str("this kernel cannot show filters"),
            DumpErrorKind::OtherForm => {
                f.write_str("the thread has a filter that is not classic BPF")
            }
            DumpErrorKind::Unreadable { filter } => {
                write!(f, "filter {filter} contains instructions that callgate does not know")
            }
            DumpErrorKind::Late(patience) => {
                write!(f, "the thread did not stop within {} seconds", patience.as_secs())
            }
            DumpErrorKind::Uninterruptible(patience) => write!(
                f,
                "the thread waits in the kernel, cannot be interrupted (state D), and did not stop \
                 within {} seconds",
                patience.as_secs()
            ),
            DumpErrorKind::Threads(why) => {
                write!(f, "/proc does not list the other threads: {}", error_text(why))
            }
            DumpErrorKind::Other(why) => {
                write!(f, "the process cannot be traced: {}", error_text(why))
            }
        }
    }
}

impl std::error::Error for DumpError {}
