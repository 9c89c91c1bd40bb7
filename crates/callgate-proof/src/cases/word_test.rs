//! Comparisons of words.

use callgate_bpf::Relation;
use callgate_bpf::data::Word;

/// A comparison of some bits of a word with a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WordTest {
    /// The word.
    pub word: Word,
    /// The compared bits.
    pub mask: u32,
    /// Whether the bits must be at least the value; otherwise they must be equal to it.
    pub is_order: bool,
    /// The value.
    pub value: u32,
}

/// A comparison, or its negation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Literal {
    /// The comparison.
    pub test: WordTest,
    /// Whether it must hold.
    pub holds: bool,
}

/// A literal, or one that does not depend on the word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Simplified {
    Constant(bool),
    Literal(Literal),
}

impl WordTest {
    pub(super) const fn equal(word: Word, mask: u32, value: u32) -> WordTest {
        WordTest { word, mask, is_order: false, value }
    }

    pub(super) const fn at_least(word: Word, mask: u32, value: u32) -> WordTest {
        WordTest { word, mask, is_order: true, value }
    }

    /// Whether the test holds for a value of the word.
    pub fn holds(self, word: u32) -> bool {
        let compared = word & self.mask;
        if self.is_order { compared >= self.value } else { compared == self.value }
    }

    /// The test, if it depends on the word.
    pub(super) fn simplified(self) -> Simplified {
        let WordTest { mask, is_order, value, .. } = self;
        match is_order {
            _ if value == 0 && (is_order || mask == 0) => Simplified::Constant(true),
            true if value > mask => Simplified::Constant(false),
            false if value & !mask != 0 => Simplified::Constant(false),
            _ => Simplified::Literal(Literal { test: self, holds: true }),
        }
    }

    /// The result of a branch, where A holds the bits `mask` of a word.
    pub(super) fn of_branch(word: Word, mask: u32, relation: Relation, k: u32) -> Simplified {
        match relation {
            Relation::Equal => WordTest::equal(word, mask, k).simplified(),
            Relation::AtLeast => WordTest::at_least(word, mask, k).simplified(),
            Relation::Greater => match k.checked_add(1) {
                Some(next) => WordTest::at_least(word, mask, next).simplified(),
                None => Simplified::Constant(false),
            },
            Relation::Shares => WordTest::equal(word, mask & k, 0).simplified().negated(),
        }
    }
}

impl Simplified {
    pub(super) fn negated(self) -> Simplified {
        match self {
            Simplified::Constant(holds) => Simplified::Constant(!holds),
            Simplified::Literal(Literal { test, holds }) => {
                Simplified::Literal(Literal { test, holds: !holds })
            }
        }
    }
}

impl Literal {
    /// Whether the literal holds for a value of the word.
    pub fn is_true_for(self, word: u32) -> bool {
        self.test.holds(word) == self.holds
    }
}
