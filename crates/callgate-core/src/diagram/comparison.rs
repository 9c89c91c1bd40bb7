//! A comparison with a variable.

use crate::template::{Half, Symbol};
use crate::{Relation, SeccompData, Word};

use super::node_table::{BITS, VARS};

/// A comparison of bits of a word with half of a symbol: `(word & mask) relation half`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Comparison {
    /// The word of the syscall. For the mask 0, [`Word::NR`].
    pub word: Word,
    /// The bits that are compared.
    pub mask: u32,
    /// The relation.
    pub relation: Relation,
    /// The symbol.
    pub symbol: Symbol,
    /// The half of the symbol.
    pub half: Half,
}

impl Comparison {
    /// Whether it holds for a syscall when the variables have these values.
    pub(super) fn holds(&self, data: &SeccompData, values: &[u64]) -> bool {
        self.relation
            .holds(data.word(self.word) & self.mask, self.half.of(self.symbol.value_in(values)))
    }
}

/// The maximum number of different comparisons with variables in a filter.
pub const MAX_COMPARISONS: usize = (VARS - BITS) as usize;
