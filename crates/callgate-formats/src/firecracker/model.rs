//! The typed model of a document: every member has been checked by itself.

use callgate_core::Verdict;

/// The filter of a thread.
pub(super) struct ThreadFilter<'n> {
    pub(super) at: usize,
    pub(super) name: &'n str,
    pub(super) mismatch: FilterAction,
    pub(super) matching: FilterAction,
    pub(super) entries: Vec<Entry<'n>>,
}

/// An action.
#[derive(Clone, Copy)]
pub(super) struct FilterAction {
    pub(super) at: usize,
    pub(super) name: &'static str,
    /// Its number as given; the verdict has the low 16 bits.
    pub(super) number: u32,
    pub(super) verdict: Verdict,
}

/// An entry of `filter`.
pub(super) struct Entry<'n> {
    pub(super) at: usize,
    pub(super) name: &'n str,
    pub(super) nr: u32,
    /// The conditions, which must all hold; at least one. `None` without `args`.
    pub(super) args: Option<Vec<ArgCondition>>,
}

/// A condition on an argument.
pub(super) struct ArgCondition {
    pub(super) at: usize,
    pub(super) index: u8,
    /// `qword`, not `dword`.
    pub(super) is_wide: bool,
    pub(super) op: Op,
    pub(super) value: u64,
}

/// The operator of a condition.
#[derive(Clone, Copy)]
pub(super) enum Op {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
    /// With the mask.
    MaskedEq(u64),
}
