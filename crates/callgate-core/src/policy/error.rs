//! The error for sections or rules that do not form a policy.

use crate::{Arch, Endian, Layout};

/// The error for sections or rules that do not form a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError(pub(super) PolicyErrorKind);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum PolicyErrorKind {
    DuplicateToken(u32),
    OtherToken(Arch, Arch),
    DuplicateArch(Arch),
    MixedEndian(Arch, Arch),
    Undeclared(usize),
    /// A condition has a field of this layout, which is not that of the policy.
    OtherInput(Layout),
    Opcode(u32),
    OpcodeInCondition,
    Variable,
    Fields,
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
            PolicyErrorKind::OtherInput(Layout::Seccomp | Layout::Packet) => f.write_str(
                "a condition compares an argument of a syscall, but the policy is about io_uring requests; compare \
                 members of requests",
            ),
            PolicyErrorKind::OtherInput(Layout::IoUring(endian)) => write!(
                f,
                "a condition compares a member of io_uring requests on {} machines, but the policy is not about these; \
                 use fields of its own input and byte order",
                match endian {
                    Endian::Little => "little-endian",
                    Endian::Big => "big-endian",
                }
            ),
            PolicyErrorKind::Opcode(opcode) => {
                write!(f, "opcode {opcode} does not exist; opcodes are numbers from 0 to 255")
            }
            PolicyErrorKind::OpcodeInCondition => f.write_str(
                "a condition compares the opcode, by which rules are selected; give the rule a set of opcodes",
            ),
            PolicyErrorKind::Variable => f.write_str(
                "a condition compares with a variable; only seccomp filters have variables",
            ),
            PolicyErrorKind::Fields => f.write_str(
                "a condition compares two members of a request; compare each with numbers",
            ),
        }
    }
}

impl std::error::Error for PolicyError {}
