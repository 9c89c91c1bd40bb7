//! Shifted constants: what a *bitset test* computes (`sub #base`, `tax`, `ld #bits`, `rsh x`, `jset #1`).
//!
//! Shifts use only the lowest five bits of their distance, so a comparison of the result depends on five bits of a word: its
//! predicate has at most 31 nodes, and is made from its 32 values.

use super::compare::var_of;
use super::{DiagramError, Pred, Store};
use callgate_bpf::Alu;
use callgate_bpf::data::Word;

/// The bits of a distance that a shift uses.
pub(super) const LOW_BITS: u32 = 31;

/// A constant that is shifted by the sum of a word and another constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shifted {
    pub(super) constant: u32,
    /// One of the two shifts.
    pub(super) op: Alu,
    pub(super) word: Word,
    pub(super) added: u32,
}

impl Shifted {
    /// The predicate that the shifted constant has a property.
    ///
    /// # Errors
    /// If the diagram exceeds its budget.
    pub(super) fn pred(
        self,
        store: &mut Store,
        holds: impl Fn(u32) -> bool,
    ) -> Result<Pred, DiagramError> {
        self.below(store, LOW_BITS.count_ones(), 0, &holds)
    }

    /// The same where the lowest bits of the word from the given one on are those of `word`: a function of the bits below it.
    fn below(
        self,
        store: &mut Store,
        bits: u32,
        word: u32,
        holds: &impl Fn(u32) -> bool,
    ) -> Result<Pred, DiagramError> {
        let Some(bit) = bits.checked_sub(1) else {
            let distance = self.added.wrapping_add(word) & LOW_BITS;
            return Ok(Pred::constant(self.op.apply(self.constant, distance).is_some_and(holds)));
        };
        let clear = self.below(store, bit, word, holds)?;
        let set = self.below(store, bit, word | 1 << bit, holds)?;
        store.make_ordered(var_of(self.word, bit), clear, set)
    }
}
