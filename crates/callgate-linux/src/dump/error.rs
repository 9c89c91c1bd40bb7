//! Why filters could not be read, and what to do about it.

use std::fmt;
use std::io;
use std::time::Duration;

use crate::sys::error_text;
use crate::thread_status::ThreadStatus;

/// Why the filters of a thread could not be read, and what to do about it.
#[derive(Debug)]
pub struct DumpError {
    tid: u32,
    kind: Kind,
}

#[derive(Debug)]
pub(super) enum Kind {
    /// There is no such process.
    Gone,
    /// It ended while it was looked at.
    Ended,
    Zombie,
    KernelThread,
    /// It belongs to this process.
    Own,
    /// This process has a filter.
    OwnFilter,
    Strict,
    /// It may not be traced.
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
    /// `/proc` does not tell of the other threads of the process.
    Threads(io::Error),
    Other(io::Error),
}

impl Kind {
    /// What an errno of `ptrace(2)` means where a thread is seized or stopped.
    pub(super) fn of_errno(why: io::Error) -> Kind {
        match why.raw_os_error() {
            Some(libc::ESRCH) => Kind::Gone,
            Some(libc::EPERM | libc::EACCES) => Kind::NotPermitted,
            _ => Kind::Other(why),
        }
    }

    /// What it means where a filter is read.
    pub(super) fn of_reading(why: io::Error) -> Kind {
        match why.raw_os_error() {
            Some(libc::ESRCH) => Kind::Ended,
            Some(libc::EACCES | libc::EPERM) => Kind::NoCapability,
            Some(libc::EINVAL | libc::EIO) => Kind::NotBuiltIn,
            Some(libc::EMEDIUMTYPE) => Kind::OtherForm,
            _ => Kind::Other(why),
        }
    }

    /// The same with what is known of the thread.
    pub(super) fn with(self, tid: u32) -> Kind {
        let status = ThreadStatus::of(tid);
        match (self, status) {
            (Kind::NotPermitted, Ok(ThreadStatus { tracer: tracer @ 1.., .. })) => {
                let name = ThreadStatus::of(tracer).map(|status| status.name).unwrap_or_default();
                Kind::TracedBy { tracer, name }
            }
            (Kind::NotPermitted, Ok(ThreadStatus { has_ended: true, .. })) => Kind::Zombie,
            (Kind::Gone, _) => Kind::Ended,
            (Kind::Late(patience), Ok(ThreadStatus { is_uninterruptible: true, .. })) => {
                Kind::Uninterruptible(patience)
            }
            (kind, _) => kind,
        }
    }
}

impl DumpError {
    pub(super) fn new(tid: u32, kind: Kind) -> DumpError {
        DumpError { tid, kind }
    }

    /// What to do about it.
    pub fn help(&self) -> String {
        match &self.kind {
            Kind::Gone => "`ps -eL` lists processes and threads".into(),
            Kind::Ended => "nothing was changed; look at a process that lives longer".into(),
            Kind::Zombie => format!(
                "a process whose main thread has ended may have others: ls /proc/{}/task",
                self.tid
            ),
            Kind::KernelThread => "name a process of user space".into(),
            Kind::Own => "let another process look: `callgate dump PID` from a second shell".into(),
            Kind::OwnFilter => {
                "look from outside of the sandbox or container that this process is in".into()
            }
            Kind::Strict => {
                "read, write, _exit and rt_sigreturn are allowed, and nothing else".into()
            }
            Kind::NotPermitted => "run as root: sudo callgate …; a process without privileges may \
                                   trace its own user's alone, and with kernel.yama.ptrace_scope=1 \
                                   only its children"
                .into(),
            Kind::TracedBy { .. } => {
                "a thread has one tracer: end it first (strace, gdb), or look at another thread"
                    .into()
            }
            Kind::NoCapability => {
                "run as root, outside of user namespaces and containers: sudo callgate …".into()
            }
            Kind::NotBuiltIn => "a kernel with CONFIG_CHECKPOINT_RESTORE=y is needed, as \
                                 distributions have it (zgrep CHECKPOINT_RESTORE /proc/config.gz)"
                .into(),
            Kind::OtherForm | Kind::Unreadable { .. } => {
                "`bpftool prog` may show it in the kernel's own form".into()
            }
            Kind::Late(_) | Kind::Uninterruptible(_) => {
                "it goes on as before; try again when it has left the kernel (ps -o stat,wchan)"
                    .into()
            }
            Kind::Threads(_) => {
                "the filters were not shown, because threads with other filters might be missing"
                    .into()
            }
            Kind::Other(_) => "look at ptrace(2) for what the kernel means".into(),
        }
    }
}

impl fmt::Display for DumpError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            Kind::Gone => f.write_str("no such process or thread"),
            Kind::Ended => f.write_str("it ended before its filters were read"),
            Kind::Zombie => f.write_str("it has ended and waits for its parent (a zombie)"),
            Kind::KernelThread => {
                f.write_str("this is a thread of the kernel, which has no filters")
            }
            Kind::Own => f.write_str("this is callgate itself, and no process traces itself"),
            Kind::OwnFilter => f.write_str(
                "this process has a filter itself, and the kernel shows filters to processes \
                 without one alone",
            ),
            Kind::Strict => {
                f.write_str("it is in seccomp's strict mode, which has no filter to be read")
            }
            Kind::NotPermitted => f.write_str("it may not be traced: permission denied"),
            Kind::TracedBy { tracer, name } => {
                write!(f, "it is traced by process {tracer} ({name}) already")
            }
            Kind::NoCapability => {
                f.write_str("the kernel shows filters to processes with CAP_SYS_ADMIN alone")
            }
            Kind::NotBuiltIn => f.write_str("this kernel cannot show filters"),
            Kind::OtherForm => f.write_str("a filter of it is not kept as classic BPF"),
            Kind::Unreadable { filter } => {
                write!(f, "filter {filter} has instructions that are not known here")
            }
            Kind::Late(patience) => {
                write!(f, "it did not stop within {} seconds", patience.as_secs())
            }
            Kind::Uninterruptible(patience) => write!(
                f,
                "it waits in the kernel, where nothing interrupts it (state D), and did not stop \
                 within {} seconds",
                patience.as_secs()
            ),
            Kind::Threads(why) => {
                write!(f, "/proc does not tell of its threads: {}", error_text(why))
            }
            Kind::Other(why) => write!(f, "it cannot be traced: {}", error_text(why)),
        }
    }
}

impl std::error::Error for DumpError {}
