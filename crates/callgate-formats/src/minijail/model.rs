//! The typed model of a policy.

use crate::included::{Place, Span};
use callgate_core::Verdict;
use callgate_core::policy::Test;

/// A policy with its included files.
#[derive(Default)]
pub(super) struct Model {
    pub(super) statements: Vec<Statement>,
    /// The action of the last `@default`, and its place.
    pub(super) default: Option<(Verdict, Place)>,
    /// Whether the policy is a denylist.
    pub(super) is_denylist: bool,
}

/// Syscalls and their filters.
pub(super) struct Statement {
    pub(super) syscalls: Vec<Syscall>,
    pub(super) filters: Vec<Filter>,
}

/// A syscall of a statement.
#[derive(Clone, Copy)]
pub(super) struct Syscall {
    pub(super) at: Span,
    pub(super) nr: u32,
}

/// A filter: an action, perhaps with conditions.
pub(super) struct Filter {
    pub(super) at: Place,
    /// At least one of the lists must hold, and of this all comparisons. `None` without conditions.
    pub(super) when: Option<Vec<Vec<Comparison>>>,
    pub(super) action: Verdict,
}

/// A comparison of an argument with a value.
#[derive(Clone, Copy)]
pub(super) enum Comparison {
    Test(Test),
    /// Holds for every value.
    Always,
    /// Holds for none.
    Never,
}
