//! Why the tracepoint method does not work.

use std::{fmt, io};

use callgate_linux::error_text;

use super::btf::PATH;
use super::kernel::Refused;

/// Why the tracepoint method does not work.
pub(crate) enum BpfError {
    Machine,
    NoTypes(io::Error),
    NoType(&'static str),
    Map(io::Error),
    Types(io::Error),
    Program(&'static str, Refused),
    NotSeen,
}

impl BpfError {
    /// What to do if a command was to be recorded.
    pub(crate) fn help(&self) -> &'static str {
        if self.is_missing_privilege() {
            "record as root (CAP_BPF and CAP_PERFMON) on Linux 5.15 or later, or with --via ptrace"
        } else {
            "record with --via ptrace"
        }
    }

    /// What to do if running processes were to be recorded.
    pub(crate) fn help_for_attaching(&self) -> &'static str {
        if self.is_missing_privilege() {
            "record as root (CAP_BPF and CAP_PERFMON) on Linux 5.15 or later; without privileges, callgate record \
             -- CMD records a command from its start"
        } else {
            "running processes can be recorded only by eBPF; callgate record -- CMD records a command from its start"
        }
    }

    fn is_missing_privilege(&self) -> bool {
        matches!(
            self,
            BpfError::Map(why) | BpfError::Types(why) | BpfError::Program(_, Refused { why, .. })
                if why.raw_os_error() == Some(libc::EPERM)
        )
    }
}

impl fmt::Display for BpfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            BpfError::Machine => f.write_str("the tracepoint method supports only x86-64"),
            BpfError::NoTypes(why) => {
                write!(f, "{} cannot be read: {}", PATH, error_text(why))
            }
            BpfError::NoType(name) => write!(f, "{} does not contain {name}", PATH),
            BpfError::Map(why) => write!(f, "the kernel refuses eBPF maps: {}", error_text(why)),
            BpfError::Types(why) => {
                write!(f, "the kernel refuses types of eBPF functions: {}", error_text(why))
            }
            BpfError::Program(name, Refused { why, log }) => {
                let name = name.trim_start_matches("btf_trace_");
                write!(f, "the kernel refuses the eBPF program for {name}: {}", error_text(why))?;
                match log.lines().rev().find(|line| !line.starts_with("processed")) {
                    Some(line) => write!(f, " ({line})"),
                    None => Ok(()),
                }
            }
            BpfError::NotSeen => f.write_str("the eBPF programs did not see a test syscall"),
        }
    }
}

impl fmt::Debug for BpfError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
