//! Errors of the programs in libseccomp's shape.

use callgate_core::MAX_INSNS;

/// libseccomp cannot compile a policy, or its program is not modelled here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShapeError(pub(super) ShapeErrorKind);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ShapeErrorKind {
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
}

impl std::fmt::Display for ShapeError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            ShapeErrorKind::NoRule { syscall, why } => {
                write!(f, "libseccomp cannot express the rules of syscall {syscall}: {why}")
            }
            ShapeErrorKind::Range { first, last } => write!(
                f,
                "libseccomp cannot express a rule about all syscall numbers from {first} to {last}"
            ),
            ShapeErrorKind::Arches(why) => {
                write!(f, "libseccomp cannot express these architectures: {why}")
            }
            ShapeErrorKind::TooLong { given } => write!(
                f,
                "libseccomp's program has {given} instructions; the kernel accepts at most {MAX_INSNS}"
            ),
            ShapeErrorKind::Meaning => {
                f.write_str("libseccomp's program is not equivalent to the rules")
            }
            ShapeErrorKind::Diagram(why) => {
                write!(f, "libseccomp's program cannot be checked: {why}")
            }
        }
    }
}

impl std::error::Error for ShapeError {}
