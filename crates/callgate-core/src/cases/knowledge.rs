//! What is known about the words of a syscall on a path.
//!
//! Everything here is an upper bound of the values that a word may have: an interval, bits with known values, and
//! comparisons that failed.

use std::cell::Cell;

use crate::Word;

use super::word_comparison::{Literal, WordTest, at_least};

/// How often an interval becomes shorter because one of its ends is excluded. More would be known without this limit.
const MAX_EXCLUDED_ENDS: u32 = 64;

/// What is known about a word: it is within an interval, and some of its bits are known.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Known {
    min: u32,
    max: u32,
    mask: u32,
    /// The values of the bits in the mask.
    bits: u32,
}

const NOTHING: Known = Known { min: 0, max: u32::MAX, mask: 0, bits: 0 };

impl Known {
    /// Whether all other bits than these are known.
    fn fixes_all_but(self, mask: u32) -> bool {
        !mask & !self.mask == 0
    }

    /// The least and the greatest possible value of some bits.
    fn bounds(self, mask: u32) -> (u32, u32) {
        if self.fixes_all_but(mask) {
            // The other bits are constant, at both ends as well. Words with the same other bits are ordered as the compared ones.
            return (self.min & mask, self.max & mask);
        }
        let least = self.bits & mask;
        (least, least | mask & !self.mask)
    }

    /// The same values, so that both ends of the interval have the known bits, and the bits that all values of the interval
    /// have are known; `None` if there is no value.
    fn tightened(self) -> Option<Known> {
        let Known { mask, bits, .. } = self;
        let min = at_least(self.min, mask, bits)?;
        // The complement turns the order around.
        let max = !at_least(!self.max, mask, !bits & mask)?;
        if min > max {
            return None;
        }
        // The leading bits that are equal at both ends are those of all values between.
        let varying = u32::MAX.checked_shr((min ^ max).leading_zeros()).unwrap_or(0);
        Some(Known { min, max, mask: mask | !varying, bits: bits | min & !varying })
    }
}

/// What is known about all words.
#[derive(Debug)]
pub(super) struct Knowledge {
    words: [Known; Word::COUNT],
    /// The bits `mask` of a word do not have this value.
    excluded: Vec<(Word, u32, u32)>,
    /// Those of `excluded` whose mask has not all bits: they may become false, or tell a bit, when other bits become known.
    parts: Vec<(Word, u32, u32)>,
    /// Results of order tests of some bits of a word, from which nothing else follows.
    ordered: Vec<Literal>,
    /// What was known before each change.
    before: Vec<(usize, Known)>,
    /// The number of excluded values and results that were looked at.
    compared: Cell<u32>,
}

/// A state to return to.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mark {
    excluded: usize,
    parts: usize,
    ordered: usize,
    before: usize,
}

impl Mark {
    /// Nothing was known.
    pub(super) const START: Mark = Mark { excluded: 0, parts: 0, ordered: 0, before: 0 };
}

impl Knowledge {
    /// Nothing is known.
    pub(super) fn nothing() -> Knowledge {
        Knowledge {
            words: [NOTHING; Word::COUNT],
            excluded: Vec::new(),
            parts: Vec::new(),
            ordered: Vec::new(),
            before: Vec::new(),
            compared: Cell::new(0),
        }
    }

    pub(super) fn mark(&self) -> Mark {
        Mark {
            excluded: self.excluded.len(),
            parts: self.parts.len(),
            ordered: self.ordered.len(),
            before: self.before.len(),
        }
    }

    /// Forgets what was learnt since the mark.
    pub(super) fn return_to(&mut self, mark: Mark) {
        self.excluded.truncate(mark.excluded);
        self.parts.truncate(mark.parts);
        self.ordered.truncate(mark.ordered);
        while self.before.len() > mark.before {
            let Some((word, known)) = self.before.pop() else { return };
            if let Some(current) = self.words.get_mut(word) {
                *current = known;
            }
        }
    }

    /// The number of comparisons with excluded values and with results of order tests so far.
    pub(super) fn compared(&self) -> u32 {
        self.compared.get()
    }

    fn count(&self, comparisons: usize) {
        self.compared.set(self.compared.get().saturating_add(comparisons as u32));
    }

    fn known(&self, word: Word) -> Known {
        self.words.get(word.index()).copied().unwrap_or(NOTHING)
    }

    /// The least and the greatest value that a word may have.
    pub(super) fn interval(&self, word: Word) -> (u32, u32) {
        let Known { min, max, .. } = self.known(word);
        (min, max)
    }

    /// The result of a test for all values that the word may have; `None` if it is not known.
    pub(super) fn decide(&self, test: WordTest) -> Option<bool> {
        let WordTest { word, mask, is_order, value } = test;
        let known = self.known(word);
        let (least, most) = known.bounds(mask);
        if is_order {
            return match () {
                () if least >= value => Some(true),
                () if most < value => Some(false),
                () => {
                    self.count(self.ordered.len());
                    self.ordered.iter().find(|one| one.test == test).map(|one| one.holds)
                }
            };
        }
        if value < least || value > most {
            return Some(false);
        }
        let differing = (value ^ known.bits) & known.mask & mask;
        if differing != 0 || value & !mask != 0 {
            return Some(false);
        }
        if mask & !known.mask == 0 {
            return Some(true);
        }
        self.count(self.excluded.len());
        let is_excluded = self
            .excluded
            .iter()
            .any(|(of, bits, not)| *of == word && bits & !mask == 0 && value & bits == *not);
        is_excluded.then_some(false)
    }

    /// Whether a literal holds for all values that its word may have; `None` if it is not known.
    pub(super) fn decide_literal(&self, literal: Literal) -> Option<bool> {
        self.decide(literal.test).map(|result| result == literal.holds)
    }

    /// Adds that a word is in this interval. Returns whether it has a value there; if not, nothing may follow but
    /// [`Knowledge::return_to`].
    pub(super) fn learn_interval(&mut self, word: Word, first: u32, last: u32) -> bool {
        let known = self.known(word);
        self.change(word, Known { min: known.min.max(first), max: known.max.min(last), ..known })
    }

    /// Adds the result of a test that is not [decided](Self::decide). Returns whether the word has a value then; if not, nothing
    /// may follow but [`Knowledge::return_to`].
    pub(super) fn learn(&mut self, Literal { test, holds }: Literal) -> bool {
        let WordTest { word, mask, is_order, value } = test;
        let known = self.known(word);
        let (others, unknown) = (known.bits & !mask, mask & !known.mask);
        let is_ordered = known.fixes_all_but(mask);
        match (is_order, holds) {
            (true, true) if is_ordered => self.learn_interval(word, value | others, u32::MAX),
            // A test with the value 0 is decided. If a value less than `value` shared a bit with the others, their union could
            // be less than a possible word.
            (true, false) if is_ordered && value.saturating_sub(1) & others == 0 => {
                self.learn_interval(word, 0, value.saturating_sub(1) | others)
            }
            (true, _) => {
                self.ordered.push(Literal { test, holds });
                true
            }
            (false, true) => {
                let (mask, bits) = (known.mask | mask, known.bits | value);
                self.change(word, Known { mask, bits, ..known })
            }
            // The known bits are those of the value, so the only other one differs.
            (false, false) if unknown.is_power_of_two() => {
                let (mask, bits) = (known.mask | unknown, known.bits | unknown & !value);
                self.change(word, Known { mask, bits, ..known })
            }
            (false, false) => {
                let Known { min, max, .. } = known;
                // With the bits that are known, this is one value. At an end of the interval, nothing else need be remembered.
                match value | others {
                    excluded if is_ordered && excluded == min => {
                        return min < max && self.learn_interval(word, min + 1, max);
                    }
                    excluded if is_ordered && excluded == max => {
                        return min < max && self.learn_interval(word, min, max - 1);
                    }
                    excluded if is_ordered && mask != u32::MAX => {
                        self.excluded.push((word, u32::MAX, excluded));
                    }
                    _ => {}
                }
                self.excluded.push((word, mask, value));
                if mask != u32::MAX {
                    self.parts.push((word, mask, value));
                }
                true
            }
        }
    }

    /// Replaces what is known about a word; returns whether it has a value.
    fn change(&mut self, word: Word, to: Known) -> bool {
        let to = self.with_excluded_bits(word, to);
        let to = to.and_then(|to| self.without_excluded_ends(word, to));
        let Some(to) = to.filter(|to| self.agrees_with_order_tests(word, *to)) else {
            return false;
        };
        if let Some(known) = self.words.get_mut(word.index()) {
            self.before.push((word.index(), *known));
            *known = to;
        }
        true
    }

    /// What is known, with the bits that follow from excluded values of which all other bits are known; `None` if there is no
    /// value.
    fn with_excluded_bits(&self, word: Word, known: Known) -> Option<Known> {
        let mut known = known;
        loop {
            self.count(self.parts.len());
            let before = known.mask;
            for (_, mask, not) in self.parts.iter().filter(|(of, ..)| *of == word) {
                let unknown = mask & !known.mask;
                if (known.bits ^ not) & mask & known.mask != 0 {
                    continue;
                }
                match unknown {
                    0 => return None,
                    bit if bit.is_power_of_two() => {
                        known.mask |= bit;
                        known.bits |= bit & !not;
                    }
                    _ => {}
                }
            }
            if known.mask == before {
                return Some(known);
            }
        }
    }

    /// Whether a word with these bits may have the results of the order tests.
    fn agrees_with_order_tests(&self, word: Word, known: Known) -> bool {
        self.count(self.ordered.len());
        self.ordered.iter().filter(|one| one.test.word == word).all(|Literal { test, holds }| {
            let (least, most) = known.bounds(test.mask);
            if *holds { most >= test.value } else { least < test.value }
        })
    }

    /// A test of a bit on which it depends whether the words have values at all: more may follow from its result. `None` if nothing
    /// can follow.
    pub(super) fn open_bit(&self) -> Option<WordTest> {
        let of_order = self.ordered.iter().map(|one| (one.test.word, one.test.mask, None));
        let of_parts = self.parts.iter().map(|(word, mask, not)| (*word, *mask, Some(*not)));
        self.count(self.ordered.len() + self.parts.len());
        of_order.chain(of_parts).find_map(|(word, mask, not)| {
            let known = self.known(word);
            let is_met = |not: u32| (known.bits ^ not) & mask & known.mask != 0;
            let unknown =
                (mask & !known.mask).checked_ilog2().filter(|_| !not.is_some_and(is_met))?;
            let test = WordTest::equal(word, 1 << unknown, 1 << unknown);
            self.decide(test).is_none().then_some(test)
        })
    }

    /// What is known, with an interval that is shorter if its ends are excluded; `None` if there is no value.
    fn without_excluded_ends(&self, word: Word, known: Known) -> Option<Known> {
        // Values that differ only in bits below the mask are excluded alike; the result has all of these bits.
        let excluded_with = |end: u32| {
            let excludes = |(of, mask, not): &&(Word, u32, u32)| *of == word && end & mask == *not;
            let (_, mask, _) = self.excluded.iter().find(excludes)?;
            Some(!(u32::MAX.checked_shl(mask.trailing_zeros()).unwrap_or(0)))
        };
        let mut known = known.tightened()?;
        for _ in 0..MAX_EXCLUDED_ENDS {
            self.count(2 * self.excluded.len());
            let Known { min, max, .. } = known;
            let next = match (excluded_with(min), excluded_with(max)) {
                (Some(below), _) => Known { min: (min | below).checked_add(1)?, ..known },
                (_, Some(below)) => Known { max: (max & !below).checked_sub(1)?, ..known },
                (None, None) => break,
            };
            known = next.tightened()?;
        }
        Some(known)
    }
}

#[cfg(test)]
mod tests {
    use callgate_bpf::random::Rng;

    use super::super::word_comparison::Simplified;
    use super::*;

    /// Bits of a value of six bits at the positions of a word where comparisons are different: the ends and the middle.
    fn spread(value: u32) -> u32 {
        const AT: [u32; 6] = [0, 1, 2, 17, 30, 31];
        (0..6).filter(|bit| value >> bit & 1 == 1).map(|bit| 1 << AT[bit as usize]).sum()
    }

    /// For every value that agrees with all that was learnt, whatever is decided is true. Much is decided.
    #[test]
    fn what_is_decided_is_true_for_all_possible_values() {
        let mut rng = Rng::new(5);
        let word = Word::arg_low(3).unwrap();
        let (mut decided, mut asked, mut exact) = (0, 0, 0);
        for _ in 0..30_000 {
            let mut knowledge = Knowledge::nothing();
            let mut possible: Vec<u32> = (0..64).map(spread).collect();
            // The other bits are 0.
            let others = WordTest::equal(word, !spread(63), 0);
            assert!(knowledge.learn(Literal { test: others, holds: true }));
            for _ in 0..6 {
                let mask = if rng.below(2) == 0 { u32::MAX } else { spread(rng.below(64) as u32) };
                let value =
                    spread(rng.below(64) as u32).wrapping_add(rng.below(3) as u32).wrapping_sub(1);
                let test = WordTest { word, mask, is_order: rng.below(2) == 0, value };
                let (yes, no): (Vec<u32>, Vec<u32>) =
                    possible.iter().partition(|value| test.holds(**value));
                asked += 1;
                match knowledge.decide(test) {
                    Some(true) => assert_eq!(no, [0; 0], "{test:x?} {knowledge:x?}"),
                    Some(false) => assert_eq!(yes, [0; 0], "{test:x?} {knowledge:x?}"),
                    None => {
                        let holds = rng.below(2) == 0;
                        let mark = knowledge.mark();
                        let before = format!("{:?}", (&knowledge.words, &knowledge.excluded));
                        knowledge.learn(Literal { test, holds: !holds });
                        knowledge.return_to(mark);
                        let after = format!("{:?}", (&knowledge.words, &knowledge.excluded));
                        assert_eq!(after, before);
                        possible = if holds { yes } else { no };
                        if knowledge.learn(Literal { test, holds }) {
                            continue;
                        }
                        assert_eq!(possible, [0; 0], "{test:x?} {knowledge:x?}");
                        break;
                    }
                }
                decided += 1;
                exact += usize::from(yes.is_empty() != no.is_empty());
            }
        }
        println!("{decided} of {asked} decided, {exact} of them about possible values");
        assert!(exact * 4 > asked, "{exact} of {asked}");
    }

    /// What the proof learns from a comparison, it knows afterwards, unless no value is possible.
    #[test]
    fn what_was_learnt_is_decided() {
        let mut rng = Rng::new(9);
        for _ in 0..30_000 {
            let mut knowledge = Knowledge::nothing();
            let mut possible: Vec<u32> = (0..64).map(spread).collect();
            for _ in 0..8 {
                let is_order = rng.below(3) == 0;
                let mask = if rng.below(2) == 0 { u32::MAX } else { spread(rng.below(64) as u32) };
                let value = spread(rng.below(64) as u32).wrapping_sub(rng.below(3) as u32);
                let test = WordTest { word: Word::NR, mask, is_order, value };
                let Simplified::Literal(Literal { test, .. }) = test.simplified() else { continue };
                if knowledge.decide(test).is_none() {
                    let of = |holds| {
                        let agrees = |value: &&u32| test.holds(**value) == holds;
                        possible.iter().filter(agrees).copied().collect::<Vec<u32>>()
                    };
                    let mut holds = rng.below(2) == 0;
                    holds ^= of(holds).is_empty();
                    possible = of(holds);
                    if possible.is_empty() {
                        break;
                    }
                    assert!(knowledge.learn(Literal { test, holds }));
                    assert_eq!(knowledge.decide(test), Some(holds), "{test:x?} {knowledge:x?}");
                }
            }
        }
    }

    /// `word & 7` is not 0, and bits 0 and 1 are: so bit 2 is set.
    #[test]
    fn the_last_open_bit_of_an_excluded_value_is_known() {
        let word = Word::NR;
        let bit = |bit, holds| Literal { test: WordTest::equal(word, bit, bit), holds };
        let mut knowledge = Knowledge::nothing();
        assert!(knowledge.learn(Literal { test: WordTest::equal(word, 7, 0), holds: false }));
        assert_eq!(knowledge.open_bit(), Some(bit(4, true).test));
        assert!(knowledge.learn(bit(1, false)) && knowledge.learn(bit(2, false)));
        assert_eq!(knowledge.decide_literal(bit(4, true)), Some(true));
        assert_eq!(knowledge.open_bit(), None);
    }

    /// `word & 5` is at least 2, so bit 2 is set; without it, there is no value.
    #[test]
    fn bits_that_contradict_an_order_test_leave_no_value() {
        let order = Literal { test: WordTest::at_least(Word::NR, 5, 2), holds: true };
        let mut knowledge = Knowledge::nothing();
        assert!(knowledge.learn(order));
        let bit = knowledge.open_bit().unwrap();
        assert_eq!(bit, WordTest::equal(Word::NR, 4, 4));
        assert!(!knowledge.learn(Literal { test: bit, holds: false }));
    }

    /// The least value with some bits, beside a search.
    #[test]
    fn the_least_value_with_known_bits_is_found() {
        for mask in 0..64 {
            for bits in (0..64).filter(|bits| bits & !mask == 0) {
                for min in 0..64 {
                    let expected = (min..64).find(|value| value & mask == bits).map(spread);
                    // The other bits are known to be 0, so that no carry leaves the spread ones.
                    let found = at_least(spread(min), spread(mask) | !spread(63), spread(bits));
                    assert_eq!(found, expected, "{min} {mask} {bits}");
                }
            }
        }
    }
}
