//! Which of several conditional rules of one call decides where more than one matches.
//!
//! libseccomp's programs ask 32-bit words, one rule after the other: of 64-bit arguments the high word,
//! then the low one. Rules that begin with the same words share them, and words at the same place are
//! ordered: the higher argument first; then EQ, NE and MASKED_EQ before LT and LE before GT and GE;
//! then the larger word, for LT and LE the smaller one; words that are equal in all that stay in the
//! order in which rules first brought them. Two words are the same when the program compares them
//! alike, whatever the operator: `>` and `<=` are one comparison with the answers exchanged, and so are `>=` and
//! `<`, and the high words of all four.

use std::collections::btree_map::Range;
use std::collections::{BTreeMap, HashMap};
use std::ops::Bound;

use super::comparison::{Comparison, Op, Tests};

/// What counts for the place of a word among others; what comes first is smallest.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// Twice the argument, and one more for the high half; inverted.
    place: u8,
    /// EQ, NE and MASKED_EQ, then LT and LE, then GT and GE.
    class: u8,
    /// Inverted, but for LT and LE.
    value: u32,
}

/// How a program compares a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
struct Word {
    place: u8,
    kind: Kind,
    value: u32,
    mask: u32,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Kind {
    Equal,
    Masked,
    Above,
    AtLeast,
}

/// The conditions of one call, as they are added.
#[derive(Debug)]
pub(super) struct Order {
    is_64bit: bool,
    /// Per word that was brought the conditions that end with it: two, when one holds where the other does
    /// not. Words below it name it as their level; level 0 has the first words of all conditions.
    ends: Vec<Vec<usize>>,
    /// The first word on a level that compares so: where it is, and which one it is.
    words: HashMap<(usize, Word), (Rank, usize)>,
    /// The words of each level, in order.
    levels: BTreeMap<(usize, Rank, usize), ()>,
}

impl Order {
    pub(super) fn new(is_64bit: bool) -> Order {
        Order { is_64bit, ends: vec![Vec::new()], words: HashMap::new(), levels: BTreeMap::new() }
    }

    /// Adds a condition that was not added before.
    pub(super) fn add(&mut self, tests: &Tests, condition: usize) {
        let mut level = 0;
        for test in tests.comparisons() {
            let halves: &[bool] = if self.is_64bit { &[true, false] } else { &[false] };
            for high in halves {
                level = self.word(level, *test, *high);
            }
        }
        if let Some(end) = self.ends.get_mut(level) {
            end.push(condition);
        }
    }

    /// Goes from a level to the one below a word.
    fn word(&mut self, level: usize, test: Comparison, high: bool) -> usize {
        let (rank, word) = word(test, high);
        let behind =
            (Bound::Excluded((level, rank, usize::MAX)), Bound::Excluded((level + 1, FIRST, 0)));
        let next = self.levels.range(behind).next().map(|((_, _, next), ())| *next);
        // It is found on the way to its own place, or right there.
        if let Some((at, same)) = self.words.get(&(level, word))
            && (*at <= rank || next == Some(*same))
        {
            return *same;
        }
        let new = self.ends.len();
        self.ends.push(Vec::new());
        self.levels.insert((level, rank, new), ());
        self.words.insert((level, word), (rank, new));
        new
    }

    /// The conditions in order.
    pub(super) fn conditions(&self) -> Vec<usize> {
        let level = |level: usize| -> Range<'_, _, ()> {
            self.levels.range((level, FIRST, 0)..(level.saturating_add(1), FIRST, 0))
        };
        let mut order = Vec::new();
        let mut open = vec![level(0)];
        while let Some(words) = open.last_mut() {
            match words.next() {
                None => {
                    open.pop();
                }
                Some(((_, _, word), ())) => {
                    order.extend(self.ends.get(*word).into_iter().flatten().copied());
                    open.push(level(*word));
                }
            }
        }
        order
    }
}

/// No word comes before one of this rank.
const FIRST: Rank = Rank { place: 0, class: 0, value: 0 };

fn word(test: Comparison, high: bool) -> (Rank, Word) {
    let half = |value: u64| if high { (value >> 32) as u32 } else { value as u32 };
    let (class, kind, mask) = match test.op() {
        Op::Eq | Op::Ne => (0, Kind::Equal, u32::MAX),
        Op::MaskedEq(mask) => (0, Kind::Masked, half(mask)),
        Op::Lt | Op::Ge if !high => {
            (if test.op() == Op::Lt { 1 } else { 2 }, Kind::AtLeast, u32::MAX)
        }
        Op::Lt | Op::Le => (1, Kind::Above, u32::MAX),
        Op::Ge | Op::Gt => (2, Kind::Above, u32::MAX),
    };
    let place = 2 * test.arg() + u8::from(high);
    let value = half(test.value());
    let rank = Rank { place: !place, class, value: if class == 1 { value } else { !value } };
    (rank, Word { place, kind, value, mask })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn order(is_64bit: bool, tests: &[(u8, Op, u64)]) -> Vec<usize> {
        let mut order = Order::new(is_64bit);
        for (condition, (arg, op, value)) in tests.iter().enumerate() {
            let test = Comparison::new(*arg, *op, *value).unwrap();
            order.add(&Tests::new(&[test], is_64bit), condition);
        }
        order.conditions()
    }

    #[test]
    fn arguments_classes_and_values_come_before_insertion() {
        for is_64bit in [true, false] {
            let tests =
                [(0, Op::Gt, 5), (0, Op::Gt, 9), (0, Op::Lt, 7), (0, Op::Eq, 1), (1, Op::Ge, 0)];
            // With 64 bits, the words of `>` come before those of `<` that share the high word with
            // them only where the values say so: the classes are compared at the low word.
            assert_eq!(order(is_64bit, &tests), [4, 3, 2, 1, 0]);
        }
    }

    #[test]
    fn opposites_have_the_same_words() {
        let tests = [(0, Op::Ge, 5), (0, Op::Ne, 0), (0, Op::Lt, 5)];
        for is_64bit in [true, false] {
            assert_eq!(order(is_64bit, &tests), [1, 0, 2]);
        }
    }

    #[test]
    fn what_is_equal_stays_in_the_order_of_insertion() {
        let (one, mask) = ((0, Op::Eq, 1), (0, Op::MaskedEq(1), 1));
        for is_64bit in [true, false] {
            assert_eq!(order(is_64bit, &[one, mask]), [0, 1]);
            assert_eq!(order(is_64bit, &[mask, one]), [0, 1]);
        }
        // With 32 bits the larger value decides; with 64, the high words are equal in rank already.
        let (three, mask) = ((0, Op::Eq, 3), (0, Op::MaskedEq(1), 1));
        assert_eq!(order(false, &[mask, three]), [1, 0]);
        assert_eq!(order(true, &[mask, three]), [0, 1]);
    }
}
