//! The conditions of branches.

use super::compare::var_of;
use super::node_set::NodeSet;
use super::{DiagramError, Func, Pred, Split, Store, VARS};
use crate::Word;
use crate::policy::Cmp;

/// The condition of a branch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum BranchCondition {
    Split(Word, Split),
    /// A comparison of these bits of a word, with the others zero.
    Masked(Word, u32, Split),
    /// A predicate, with its word if its support is a single word.
    Other(Option<Word>, Pred),
}

impl BranchCondition {
    /// The word and its only value for which the condition holds, or does not hold.
    pub(super) fn value(self, holds: bool) -> Option<(Word, u32)> {
        match (self, holds) {
            (BranchCondition::Split(word, Split::Equal(k)), true) => Some((word, k)),
            (BranchCondition::Split(word, Split::AtLeast(1)), false) => Some((word, 0)),
            _ => None,
        }
    }
}

/// The support of predicates with more nodes is not computed.
const MAX_PREDICATE_NODES: usize = 256;

impl Store {
    /// The first word that a predicate tests; `None` for a constant.
    pub(super) fn first_word(&self, pred: Pred) -> Option<Word> {
        self.word_of(self.var(pred))
    }

    /// The support of a small predicate, if it is a single word.
    pub(super) fn single_word(&self, pred: Pred) -> Option<Word> {
        let word = self.first_word(pred)?;
        let mut seen = NodeSet::new(self.len());
        let mut nodes = 0;
        let mut stack = vec![pred];
        while let Some(node) = stack.pop() {
            if self.var(node) < VARS && seen.insert(node) {
                nodes += 1;
                if self.var(node) > var_of(word, 0) || nodes > MAX_PREDICATE_NODES {
                    return None;
                }
                stack.extend(<[Pred; 2]>::from(self.children(node)));
            }
        }
        Some(word)
    }

    /// The predicate that bits of a word, with the others zero, fulfill a comparison.
    pub(super) fn masked_split(
        &mut self,
        word: Word,
        mask: u32,
        split: Split,
    ) -> Result<Pred, DiagramError> {
        match split {
            Split::Equal(k) => self.compare_word(word, mask, Cmp::Eq, k),
            Split::AtLeast(k) => self.compare_word(word, mask, Cmp::Ge, k),
        }
    }

    /// The first function where a condition holds, the second elsewhere.
    pub(super) fn branch_func(
        &mut self,
        condition: BranchCondition,
        [then, otherwise]: [Func; 2],
    ) -> Result<Func, DiagramError> {
        match condition {
            BranchCondition::Split(word, split) => self.split(word, split, then, otherwise),
            BranchCondition::Masked(word, mask, split) => {
                let condition = self.masked_split(word, mask, split)?;
                self.select(condition, then, otherwise)
            }
            BranchCondition::Other(_, condition) => self.select(condition, then, otherwise),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_support_of_a_predicate_of_one_word_is_that_word() {
        let mut store = Store::default();
        let [high, low] = [Word::arg_high(0).unwrap(), Word::arg_low(0).unwrap()];
        let one = store.any_bit(low, 0x8001).unwrap();
        let other = store.any_bit(high, 2).unwrap();
        let both = store.and(one, other).unwrap();
        assert_eq!(store.single_word(one), Some(low));
        assert_eq!(store.single_word(both), None);
        assert_eq!(store.single_word(Pred::ALWAYS), None);
    }
}
