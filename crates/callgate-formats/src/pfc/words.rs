//! Comparisons of words as a condition on arguments.

use callgate_core::policy::{Cmp, Condition, Field, Test};

use super::lines::{Half, Word};

/// A comparison of a word with a constant, of which all in a list must hold.
#[derive(Clone, Copy)]
pub(super) struct WordTest {
    pub(super) word: Word,
    pub(super) mask: u32,
    pub(super) cmp: Cmp,
    pub(super) value: u32,
}

impl WordTest {
    /// Whether it holds for this word.
    fn holds(&self, word: u32) -> bool {
        let given = word & self.mask;
        match self.cmp {
            Cmp::Eq => given == self.value,
            Cmp::Ne => given != self.value,
            Cmp::Lt => given < self.value,
            Cmp::Le => given <= self.value,
            Cmp::Gt => given > self.value,
            Cmp::Ge => given >= self.value,
        }
    }

    /// Whether it fixes all bits of the word.
    fn is_value(&self) -> bool {
        (self.cmp, self.mask) == (Cmp::Eq, u32::MAX)
    }

    /// What it is for all words, if it is the same for all.
    fn constant(&self) -> Option<bool> {
        match self.cmp {
            Cmp::Eq | Cmp::Ne if self.value & !self.mask != 0 => Some(self.cmp == Cmp::Ne),
            _ if self.mask == 0 => Some(self.holds(0)),
            _ => None,
        }
    }

    fn test(&self) -> Option<Test> {
        let (mask, value) = (u64::from(self.mask), u64::from(self.value));
        Some(match self.word.half {
            Half::High => Test {
                field: Field::arg(self.word.arg)?,
                mask: mask << 32,
                cmp: self.cmp,
                value: value << 32,
            },
            Half::Low | Half::Only => {
                Test { field: Field::arg_low(self.word.arg)?, mask, cmp: self.cmp, value }
            }
        })
    }
}

/// The condition that all tests hold; `None` if no arguments meet it. It says the same with few tests: those that another one
/// implies are left out, and equal words of an argument are one comparison of it.
pub(super) fn condition(tests: &[WordTest]) -> Option<Condition> {
    let mut left: Vec<WordTest> = Vec::new();
    for test in tests {
        let of_word = |other: &&WordTest| other.word == test.word && other.is_value();
        match (test.constant(), tests.iter().find(of_word)) {
            (Some(false), _) => return None,
            (Some(true), _) => {}
            (None, Some(value)) if !test.holds(value.value) => return None,
            (None, Some(value)) => {
                if !left.iter().any(|other| other.word == value.word) {
                    left.push(*value);
                }
            }
            (None, None) => left.push(*test),
        }
    }
    let mut parts = Vec::new();
    while !left.is_empty() {
        let first = left.remove(0);
        let other = match first.word.half {
            Half::High => Some(Half::Low),
            Half::Low => Some(Half::High),
            Half::Only => None,
        };
        let is_other = |test: &WordTest| {
            test.word.arg == first.word.arg && Some(test.word.half) == other && test.cmp == Cmp::Eq
        };
        let pair = left.iter().position(is_other).filter(|_| first.cmp == Cmp::Eq);
        let test = match pair.map(|at| left.remove(at)) {
            None => first.test()?,
            Some(second) => {
                let (high, low) = match first.word.half {
                    Half::High => (first, second),
                    _ => (second, first),
                };
                let join = |high, low| u64::from(high) << 32 | u64::from(low);
                let (mask, value) = (join(high.mask, low.mask), join(high.value, low.value));
                Test::masked_eq(Field::arg(first.word.arg)?, mask, value)
            }
        };
        parts.push(Condition::test(test));
    }
    Some(Condition::all(parts))
}
