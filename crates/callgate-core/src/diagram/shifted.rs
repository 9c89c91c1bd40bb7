//! Shifted constants: what a *bitset test* computes (`sub #base`, `tax`, `ld #bits`, `rsh x`, `jset #1`).
//!
//! A shift uses only the lowest five bits of its distance. So a comparison of the result depends on five bits of a word; its
//! predicate has at most 31 nodes and is built from the 32 values.

use super::compare::var_of;
use super::{DiagramError, Pred, Store};
use crate::{Alu, Word};

/// The bits of a distance that a shift uses.
pub(super) const LOW_BITS: u32 = 31;

/// A constant that is shifted by the sum of a word and another constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Shifted {
    pub(super) constant: u32,
    /// `Lsh` or `Rsh`.
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

    /// As [`Shifted::pred`], for words whose low five bits are those of `value` from bit `bits` up: a function of the lower
    /// bits.
    fn below(
        self,
        store: &mut Store,
        bits: u32,
        value: u32,
        holds: &impl Fn(u32) -> bool,
    ) -> Result<Pred, DiagramError> {
        let Some(bit) = bits.checked_sub(1) else {
            let distance = self.added.wrapping_add(value) & LOW_BITS;
            return Ok(Pred::constant(self.op.apply(self.constant, distance).is_some_and(holds)));
        };
        let clear = self.below(store, bit, value, holds)?;
        let set = self.below(store, bit, value | 1 << bit, holds)?;
        store.make_ordered(var_of(self.word, bit), clear, set)
    }
}
