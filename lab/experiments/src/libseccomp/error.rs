//! Why there is no program of libseccomp.

use callgate_core::MAX_INSNS;

/// libseccomp cannot compile a policy, or could not be asked.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LibseccompError(pub(super) LibseccompErrorKind);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum LibseccompErrorKind {
    /// libseccomp has no such rule.
    NoRule {
        syscall: u32,
        why: &'static str,
    },
    /// A rule about a large range of numbers, which is not a list of syscalls.
    Range {
        first: u32,
        last: u32,
    },
    Arches(&'static str),
    TooLong {
        given: usize,
    },
    /// libseccomp's program is not equivalent to the policy.
    Meaning,
    Diagram(String),
    /// The helper or the library failed.
    Helper(String),
}

impl std::fmt::Display for LibseccompError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            LibseccompErrorKind::NoRule { syscall, why } => {
                write!(f, "libseccomp cannot express the rules of syscall {syscall}: {why}")
            }
            LibseccompErrorKind::Range { first, last } => write!(
                f,
                "libseccomp cannot express a rule about all syscall numbers from {first} to {last}"
            ),
            LibseccompErrorKind::Arches(why) => {
                write!(f, "libseccomp cannot express these architectures: {why}")
            }
            LibseccompErrorKind::TooLong { given } => write!(
                f,
                "libseccomp's program has {given} instructions; the kernel accepts at most {MAX_INSNS}"
            ),
            LibseccompErrorKind::Meaning => {
                f.write_str("libseccomp's program is not equivalent to the rules")
            }
            LibseccompErrorKind::Diagram(why) => {
                write!(f, "libseccomp's program cannot be checked: {why}")
            }
            LibseccompErrorKind::Helper(why) => f.write_str(why),
        }
    }
}

impl LibseccompError {
    /// What to do.
    pub fn help(&self) -> &'static str {
        match self.0 {
            LibseccompErrorKind::Helper(_) => {
                "the baseline is made by libseccomp.so.2: install it (apt-get install libseccomp2)"
            }
            _ => "try another profile",
        }
    }
}

impl std::error::Error for LibseccompError {}
