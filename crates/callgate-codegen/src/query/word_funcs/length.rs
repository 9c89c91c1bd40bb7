//! How large a function of one word is.

use super::func::WordFunc;

/// The number of intervals of the values below a bit, and the exits of the first and the last one.
#[derive(Clone, Copy)]
pub(super) struct Length {
    pub(super) intervals: u32,
    pub(super) first: WordFunc,
    pub(super) last: WordFunc,
}

/// How large a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// The number of nodes, without exits.
    pub(crate) nodes: usize,
    /// The number of intervals of [`WordFuncs::partition`], saturating.
    pub(crate) intervals: usize,
}

impl Length {
    /// The length of these values and then others.
    pub(super) fn followed_by(self, next: Length) -> Length {
        let joined = u32::from(self.last == next.first);
        let intervals = self.intervals.saturating_add(next.intervals - joined);
        Length { intervals, first: self.first, last: next.last }
    }
}
