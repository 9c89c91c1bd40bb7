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
        self.texts().1
    }

    /// What is wrong, and what to do about it.
    fn texts(&self) -> (String, String) {
        let texts = |message: &str, help: &str| (message.to_owned(), help.to_owned());
        let late =
            "the thread was not changed; try again when it has left the kernel (ps -o stat,wchan)";
        let ebpf = "`bpftool prog` may show it as eBPF";
        match &self.kind {
            DumpErrorKind::Gone => {
                texts("no such process or thread", "`ps -eL` lists processes and threads")
            }
            DumpErrorKind::Ended => texts(
                "the thread ended before its filters were read",
                "try again with a process that runs longer",
            ),
            DumpErrorKind::Zombie => texts(
                "the thread has ended and waits for its parent (a zombie)",
                &format!("other threads of the process may still run: ls /proc/{}/task", self.tid),
            ),
            DumpErrorKind::KernelThread => texts(
                "this is a kernel thread, which has no filters",
                "give the PID of a user-space process",
            ),
            DumpErrorKind::Own => texts(
                "this is callgate itself, and a process cannot trace itself",
                "run `callgate dump PID` from a second shell",
            ),
            DumpErrorKind::OwnFilter => texts(
                "callgate itself runs under a filter, and the kernel shows filters only to processes without one",
                "run callgate outside of the sandbox or container that it is in now",
            ),
            DumpErrorKind::Strict => texts(
                "the thread is in seccomp strict mode, which has no filter to read",
                "strict mode allows read, write, _exit and rt_sigreturn only",
            ),
            DumpErrorKind::NotPermitted => texts(
                "the process cannot be traced: permission denied",
                "run as root: sudo callgate …; security modules (Yama, SELinux, AppArmor) may restrict ptrace further",
            ),
            DumpErrorKind::TracedBy { tracer, name } => texts(
                &format!("the thread is already traced by process {tracer} ({name})"),
                "a thread has at most one tracer: end that one first (strace, gdb), or choose another thread",
            ),
            DumpErrorKind::NoCapability => texts(
                "the kernel shows filters only to processes with CAP_SYS_ADMIN",
                "run as root, outside of user namespaces and containers: sudo callgate …",
            ),
            DumpErrorKind::NotBuiltIn => texts(
                "this kernel cannot show filters",
                "use a kernel with CONFIG_CHECKPOINT_RESTORE=y, as most distributions have it (zgrep \
                 CHECKPOINT_RESTORE /proc/config.gz)",
            ),
            DumpErrorKind::OtherForm => {
                texts("the thread has a filter that is not classic BPF", ebpf)
            }
            DumpErrorKind::Unreadable { filter } => texts(
                &format!("filter {filter} contains instructions that callgate does not know"),
                ebpf,
            ),
            DumpErrorKind::Late(patience) => texts(
                &format!("the thread did not stop within {} seconds", patience.as_secs()),
                late,
            ),
            DumpErrorKind::Uninterruptible(patience) => texts(
                &format!(
                    "the thread waits in the kernel, cannot be interrupted (state D), and did not stop within {} seconds",
                    patience.as_secs()
                ),
                late,
            ),
            DumpErrorKind::Threads(why) => texts(
                &format!("/proc does not list the other threads: {}", error_text(why)),
                "no filters are shown, because threads with other filters might be missing",
            ),
            DumpErrorKind::Other(why) => texts(
                &format!("the process cannot be traced: {}", error_text(why)),
                "see ptrace(2) for the meaning of this error",
            ),
        }
    }
}

impl fmt::Display for DumpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.texts().0)
    }
}

impl std::error::Error for DumpError {}
