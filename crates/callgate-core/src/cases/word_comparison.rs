//! Comparisons of words.

use crate::{Relation, Word};

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

    /// The test, if it depends on the word. The value has no other bits than the compared ones.
    pub(super) fn simplified(self) -> Simplified {
        let WordTest { mask, is_order, value, .. } = self;
        let value = match is_order {
            // Bits that are at least a value are at least the next one that they can have.
            true => at_least(value, !mask, 0),
            false => Some(value).filter(|value| value & !mask == 0),
        };
        match value {
            None => Simplified::Constant(false),
            Some(0) if is_order || mask == 0 => Simplified::Constant(true),
            // Bits that are at least the least value but 0 are not 0, and neither is a bit that is set.
            Some(value) if value == mask & mask.wrapping_neg() && (is_order || value == mask) => {
                let test = WordTest { is_order: false, value: 0, ..self };
                Simplified::Literal(Literal { test, holds: false })
            }
            Some(value) => {
                Simplified::Literal(Literal { test: WordTest { value, ..self }, holds: true })
            }
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
    /// What this literal, which holds, says about another one by itself, if both compare the same bits, or this one has the value of
    /// the whole word.
    pub fn decides(self, other: Literal) -> Option<bool> {
        let (known, asked) = (self.test, other.test);
        if known.word != asked.word {
            return None;
        }
        if known.mask != asked.mask {
            let is_value = self.holds && !known.is_order && known.mask == u32::MAX;
            return is_value.then(|| other.is_true_for(known.value));
        }
        let result = match (known.is_order, self.holds) {
            (false, true) => Some(asked.holds(known.value)),
            (false, false) if known == asked => Some(false),
            // A bit has the other value.
            (false, false) if known.mask.is_power_of_two() => {
                Some(asked.holds(known.value ^ known.mask))
            }
            (false, false) => None,
            // From the value on.
            (true, true) if asked.is_order => (asked.value <= known.value).then_some(true),
            (true, true) => (asked.value < known.value).then_some(false),
            // Below the value.
            (true, false) => (asked.value >= known.value).then_some(false),
        };
        result.map(|result| result == other.holds)
    }

    /// Whether this literal demands a value of some bits, and the other one all greater, all less or all other values of them.
    fn begins_beside(self, other: Literal) -> bool {
        let (test, rest) = (self.test, other.test);
        let is_value = self.holds && !test.is_order;
        is_value
            && (test.word, test.mask) == (rest.word, rest.mask)
            && match (rest.is_order, other.holds) {
                (true, true) => {
                    let next = test.value.checked_add(1);
                    next.and_then(|next| at_least(next, !test.mask, 0)) == Some(rest.value)
                }
                (true, false) | (false, false) => test.value == rest.value,
                (false, true) => false,
            }
    }

    /// Whether the literal holds for a value of the word.
    pub fn is_true_for(self, word: u32) -> bool {
        self.test.holds(word) == self.holds
    }
}

/// Whether the result of a test of the first of several clauses also counts for another one, where clause after clause is tested: the
/// other one has the same test, or both are [alternatives](are_alternatives). If the first one `is_alone`, without an alternative
/// right after it, it is sufficient that both demand different values of a word.
pub fn is_informed<'l>(
    test: WordTest,
    first: impl Iterator<Item = &'l Literal> + Clone,
    is_alone: bool,
    other: impl Iterator<Item = &'l Literal> + Clone,
) -> bool {
    let is_value = |one: &Literal| one.holds && !one.test.is_order;
    other.clone().any(|one| one.test == test)
        || if is_alone {
            other.filter(|one| is_value(one)).any(|other| {
                first.clone().any(|one| is_value(one) && one.decides(*other) == Some(false))
            })
        } else {
            are_alternatives(first, other)
        }
}

/// Whether two clauses exclude each other as the alternatives of a comparison of 64 bits do: the high half is greater than a value,
/// less, or different, or it is equal to the value.
pub fn are_alternatives<'l>(
    one: impl Iterator<Item = &'l Literal> + Clone,
    other: impl Iterator<Item = &'l Literal> + Clone,
) -> bool {
    one.clone().any(|one| {
        other.clone().any(|other| other.begins_beside(*one) || one.begins_beside(*other))
    })
}

/// The least value of at least `min` whose bits `mask` are `bits`.
pub(super) fn at_least(min: u32, mask: u32, bits: u32) -> Option<u32> {
    let differing = (min ^ bits) & mask;
    let Some(first) = differing.checked_ilog2() else { return Some(min) };
    // The leading bits up to one that is raised from 0 to 1, then the least that is possible.
    let raised = match bits >> first & 1 {
        1 => first,
        _ => {
            let above = u32::MAX.checked_shl(first + 1).unwrap_or(0);
            let free = !mask & !min & above;
            (free != 0).then(|| free.trailing_zeros())?
        }
    };
    let leading = u32::MAX.checked_shl(raised + 1).unwrap_or(0);
    Some(min & leading | 1 << raised | bits & !leading)
}
