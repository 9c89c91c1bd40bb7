//! Errors of probing.

use std::fmt;
use std::process::ExitStatus;
use std::time::Duration;

use callgate::SeccompData;
use callgate_core::MAX_INSNS;

use crate::install::InstallError;

/// Why the kernel was not probed.
#[derive(Debug)]
pub struct ProbeError(pub(super) ProbeErrorKind);

#[derive(Debug)]
pub(super) enum ProbeErrorKind {
    UnknownMachine,
    TooManyValues { given: usize, limit: usize },
    TooLong { given: usize },
    NoChild(std::io::Error),
    Refused(InstallError),
    Died { data: SeccompData, status: ExitStatus },
    Late { syscalls: usize, limit: Duration },
}

impl ProbeError {
    pub(super) fn too_many_values(given: usize, limit: usize) -> ProbeError {
        ProbeError(ProbeErrorKind::TooManyValues { given, limit })
    }

    pub(super) fn too_long(given: usize) -> ProbeError {
        ProbeError(ProbeErrorKind::TooLong { given })
    }

    /// What to do about it.
    pub fn help(&self) -> String {
        match &self.0 {
            ProbeErrorKind::Refused(why) => why.help(),
            ProbeErrorKind::Died { .. } => {
                "the filter of a sandbox around this process may have killed it; check the policy of the sandbox".into()
            }
            ProbeErrorKind::NoChild(_) => "the process limit may be reached, or the memory exhausted".into(),
            _ => "omit --kernel, or use a smaller filter".into(),
        }
    }
}

impl fmt::Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            ProbeErrorKind::UnknownMachine => {
                f.write_str("the architecture of this machine is unknown")
            }
            ProbeErrorKind::TooManyValues { given, limit } => write!(
                f,
                "the program returns {given} different values; probing supports at most {limit}"
            ),
            ProbeErrorKind::TooLong { given } => write!(
                f,
                "with an errno in place of each computed value, the program has {given} instructions; \
                 the kernel accepts at most {MAX_INSNS}"
            ),
            ProbeErrorKind::NoChild(why) => {
                write!(f, "cannot create a child process: {}", crate::error_text(why))
            }
            ProbeErrorKind::Refused(why) => why.fmt(f),
            ProbeErrorKind::Died { data, status } => write!(
                f,
                "the child process ended at syscall {} ({status}), although the filter kills nothing",
                data.nr
            ),
            ProbeErrorKind::Late { syscalls, limit } => write!(
                f,
                "the child process made only {syscalls} syscalls in {} seconds and was killed",
                limit.as_secs()
            ),
        }
    }
}

impl std::error::Error for ProbeError {}
