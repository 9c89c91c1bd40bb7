//! A comparison with a variable, or of two words.

use crate::template::{Half, Symbol};
use crate::{Endian, FilterInput, Relation, Word};

use super::node_table::{BITS, VARS};

/// A comparison of bits of a word with another operand: `(word & mask) relation other`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Comparison {
    /// The word of the syscall. For the mask 0, [`Word::NR`].
    pub word: Word,
    /// The bits that are compared; all of them with another word.
    pub mask: u32,
    /// The relation.
    pub relation: Relation,
    /// The right operand.
    pub other: Compared,
}

/// The right operand of a [`Comparison`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Compared {
    /// Half of a symbol.
    Half(Symbol, Half),
    /// A later word of the syscall.
    Word(Word),
}

impl Comparison {
    /// Whether it holds for an input when the variables have these values.
    pub fn holds<D: FilterInput>(&self, data: &D, endian: Endian, values: &[u64]) -> bool {
        let other = match self.other {
            Compared::Half(symbol, half) => half.of(symbol.value_in(values)),
            Compared::Word(word) => data.get(word, endian),
        };
        self.relation.holds(data.get(self.word, endian) & self.mask, other)
    }
}

/// The maximum number of different comparisons with variables and of two words in a filter.
pub const MAX_COMPARISONS: usize = (VARS - BITS) as usize;
