//! Errors of recording.

use std::fmt;
use std::io;

use callgate_linux::{Command, ExecError, error_text};

use crate::bpf::BpfError;
use crate::start::Stopped;

/// Why a command or a process was not recorded.
#[derive(Debug)]
pub struct RecordError {
    pub(super) kind: RecordErrorKind,
}

#[derive(Debug)]
pub(super) enum RecordErrorKind {
    /// No process could be created.
    Start(io::Error),
    NotExecuted(ExecError),
    Filter(io::Error),
    Ptrace(io::Error),
    /// No `PTRACE_GET_SYSCALL_INFO`.
    TooOld,
    Tracepoint(BpfError),
    /// For running processes there is no other method.
    Attach(BpfError),
    Wait(io::Error),
    NoListener(Option<io::Error>),
    /// Process IDs of this namespace are not those that eBPF programs see.
    OtherNamespace,
    /// The target has no processes.
    NoProcesses(String),
    /// The threads of the target cannot be listed.
    Unlisted(String, io::Error),
    NoMethod,
    Ended,
}

impl RecordErrorKind {
    pub(super) fn of(stopped: Stopped, command: &Command) -> RecordErrorKind {
        match stopped {
            Stopped::NoFilter(why) => RecordErrorKind::Filter(why),
            Stopped::NotExecuted(why) => RecordErrorKind::NotExecuted(command.failed(why)),
        }
    }
}

impl From<RecordErrorKind> for RecordError {
    fn from(kind: RecordErrorKind) -> RecordError {
        RecordError { kind }
    }
}

impl RecordError {
    /// The exit status that a shell reports if the command cannot be executed; otherwise 2.
    pub fn exit_status(&self) -> u8 {
        match &self.kind {
            RecordErrorKind::NotExecuted(error) => error.exit_status(),
            _ => 2,
        }
    }

    /// Whether the target has no processes: it has ended.
    pub fn is_without_processes(&self) -> bool {
        matches!(self.kind, RecordErrorKind::NoProcesses(_))
    }

    /// What to do about it; may be empty.
    pub fn help(&self) -> &'static str {
        match &self.kind {
            RecordErrorKind::Ptrace(why) if why.raw_os_error() == Some(libc::EPERM) => {
                "a container or kernel.yama.ptrace_scope=3 may deny ptrace, and a traced process cannot get \
                 a second tracer; as root, use --via tracepoint, which needs neither"
            }
            RecordErrorKind::TooOld => "record as root with --via tracepoint, or read a strace log",
            RecordErrorKind::Filter(_) => {
                "a filter of a sandbox around this process may deny seccomp(2); check the policy of the sandbox"
            }
            RecordErrorKind::Tracepoint(why) => why.help(),
            RecordErrorKind::Attach(why) => why.help_for_attaching(),
            RecordErrorKind::NoListener(_) => "use --via stops",
            RecordErrorKind::OtherNamespace => "record on the host, outside of containers",
            RecordErrorKind::NoProcesses(_) => {
                "start it first, or record a command: callgate record -- CMD"
            }
            _ => "",
        }
    }
}

impl fmt::Display for RecordError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.kind {
            RecordErrorKind::Start(why) => {
                write!(f, "the command's process cannot be created: {}", error_text(why))
            }
            RecordErrorKind::NotExecuted(error) => error.fmt(f),
            RecordErrorKind::Filter(why) => {
                write!(f, "the filter that reports syscalls cannot be installed: {}", error_text(why))
            }
            RecordErrorKind::Ptrace(why) => {
                write!(f, "the command cannot be traced: {}", error_text(why))
            }
            RecordErrorKind::TooOld => f.write_str(
                "this kernel does not report syscalls to a tracer (PTRACE_GET_SYSCALL_INFO, since Linux 5.3)",
            ),
            RecordErrorKind::Tracepoint(why) | RecordErrorKind::Attach(why) => why.fmt(f),
            RecordErrorKind::Wait(why) => {
                write!(f, "the command cannot be waited for: {}", error_text(why))
            }
            RecordErrorKind::NoListener(why) => {
                f.write_str("seccomp notifications cannot be used here")?;
                match why {
                    Some(why) => write!(f, ": {}", error_text(why)),
                    None => f.write_str(" (they need Linux 6.6 and x86-64)"),
                }
            }
            RecordErrorKind::OtherNamespace => f.write_str(
                "running processes can be recorded only from the initial PID namespace, because eBPF programs see \
                 its process IDs",
            ),
            RecordErrorKind::NoProcesses(target) => write!(f, "{target} has no running processes"),
            RecordErrorKind::Unlisted(target, why) => {
                write!(f, "the threads of {target} cannot be listed: {}", error_text(why))
            }
            RecordErrorKind::Ended => f.write_str("the command was killed before it started"),
            RecordErrorKind::NoMethod => f.write_str("the list of methods is empty"),
        }
    }
}

impl std::error::Error for RecordError {}
