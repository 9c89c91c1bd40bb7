//! The operations on two filters.

use callgate_bpf::verdict::Verdict;
use callgate_proof::diagram::{DiagramError, Func, Store};

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

/// The union: the looser verdict where the second filter permits, elsewhere that of the first.
pub(super) fn union(store: &mut Store, first: Func, second: Func) -> Result<Func, DiagramError> {
    store.choose(first, second, |one, other| {
        !other.permits() || one.precedence() <= other.precedence()
    })
}

/// The difference: where the second filter permits, the stricter one of the first filter and `denied`.
pub(super) fn difference(
    store: &mut Store,
    first: Func,
    second: Func,
    denied: Func,
) -> Result<Func, DiagramError> {
    let removed = store.replace_verdicts(second, &|verdict| match verdict.permits() {
        true => Verdict::KILL_PROCESS,
        false => Verdict::ALLOW,
    })?;
    let removed = store.choose(denied, removed, |_, removed| removed == Verdict::KILL_PROCESS)?;
    store.highest_precedence(first, removed)
}
