//! The operations on two filters.

use callgate_core::Verdict;

/// An operation on two filters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// What both permit.
    Intersect,
    /// What at least one of them permits.
    Union,
    /// What the first one permits and the second one does not.
    Subtract {
        /// The verdict for what is removed; `None` for the one that the first filter of the expression has by default, on
        /// each architecture: for syscalls that it does not name. It is EPERM if that one permits.
        denied: Option<Verdict>,
    },
}

impl Operation {
    /// The sign of the operation in an expression.
    pub fn sign(self) -> &'static str {
        match self {
            Operation::Intersect => "^",
            Operation::Union => "+",
            Operation::Subtract { .. } => "-",
        }
    }
}
