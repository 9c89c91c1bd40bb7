//! The number of a function of one word.

/// A function of the word, or an exit: a function of later words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct WordFunc(pub(super) u32);

impl WordFunc {
    pub(super) fn at(self) -> usize {
        self.0 as usize
    }

    /// The number of the node, less than 2^31: that many nodes exceed any budget.
    pub(super) fn number(self) -> u32 {
        self.0
    }
}
