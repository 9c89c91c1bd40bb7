//! The error for sections that do not form a policy.

use callgate_bpf::syscalls::Arch;

/// The error for sections that do not form a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError(pub(super) PolicyErrorKind);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PolicyErrorKind {
    DuplicateToken(u32),
    OtherToken(Arch, Arch),
    DuplicateArch(Arch),
    MixedEndian(Arch, Arch),
    Undeclared(usize),
}

impl std::fmt::Display for PolicyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            PolicyErrorKind::DuplicateToken(token) => {
                write!(f, "two sections have the arch token {token:#010x}; join their rules")
            }
            PolicyErrorKind::OtherToken(first, other) => write!(
                f,
                "{other} has the arch token {:#010x}, but the section of {first} has \
                 {:#010x}; give {other} a section of its own",
                other.token(),
                first.token()
            ),
            PolicyErrorKind::DuplicateArch(arch) => {
                write!(f, "{arch} occurs twice in the section; give it once")
            }
            PolicyErrorKind::MixedEndian(a, b) => write!(
                f,
                "{a} and {b} have different byte orders, so no kernel runs both; \
                 compile a filter for each"
            ),
            PolicyErrorKind::Undeclared(index) => {
                write!(f, "a condition compares with variable {index}, which is not declared")
            }
        }
    }
}

impl std::error::Error for PolicyError {}
