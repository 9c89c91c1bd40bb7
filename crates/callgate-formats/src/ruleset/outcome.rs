//! Which of the rules of a syscall have an effect, and in which order they decide.

use std::cmp::Ordering;
use std::collections::btree_map::Range;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use super::comparison::{Comparison, Conjunction, Op};
use super::rule_set::{AddedRule, Overridden, RuleSet, have_one_verdict};

/// The number of syscall arguments, and so the maximum number of comparisons in a rule of libseccomp.
const ARGS: usize = 6;

/// The effect of the rules of one syscall.
pub(super) struct Outcome<O> {
    /// The rules that have an effect, in order of precedence.
    pub(super) live: Vec<AddedRule<O>>,
    pub(super) overridden: Vec<Overridden<O>>,
    /// Pairs of rules with the same condition that no other rule decides.
    pub(super) contradicting: Vec<(AddedRule<O>, AddedRule<O>)>,
}

/// From this number of conditions on, those that a condition implies are looked up, and not compared with it one by one.
const MANY: usize = 128;

impl<O: Copy> RuleSet<O> {
    /// For each of the different conditions of one syscall, another one that consists of some of its comparisons, and so holds
    /// wherever it holds: the first in order of precedence. Conditions with more comparisons than a rule of libseccomp can have
    /// have none.
    fn implied(&self, conditions: &[usize]) -> Vec<Option<usize>> {
        let tests =
            |condition: usize| self.conditions.get(condition).filter(|one| one.len() <= ARGS);
        let lengths = conditions.iter().filter_map(|one| self.conditions.get(*one));
        let lengths = lengths.fold(0u64, |set, one| set | 1 << one.len().min(63));
        // Different conditions of one length imply none of the others.
        if lengths.count_ones() < 2 {
            return vec![None; conditions.len()];
        }
        let is_first = |a: &usize, b: &usize| precedence(&self.conditions, *a, *b);
        let compared = |one: &Conjunction| {
            let is_implied = |other: &usize| {
                let other = tests(*other).filter(|other| other.len() < one.len());
                other.is_some_and(|other| other.is_part_of(one))
            };
            conditions.iter().copied().filter(is_implied).min_by(is_first)
        };
        if conditions.len() < MANY {
            return conditions.iter().map(|one| tests(*one).and_then(compared)).collect();
        }
        let known: BTreeSet<usize> = conditions.iter().copied().collect();
        let looked_up = |one: &Conjunction| {
            let is_length = |subset: &u32| lengths >> subset.count_ones() & 1 == 1;
            let subsets = (1..(1u32 << one.len()) - 1).filter(is_length);
            let others = subsets.filter_map(|bits| self.indices.get(&one.subset(bits)).copied());
            others.filter(|other| known.contains(other)).min_by(is_first)
        };
        conditions.iter().map(|one| tests(*one).and_then(looked_up)).collect()
    }

    /// The effect of the rules of one syscall.
    pub(super) fn outcome(&self, rules: &[AddedRule<O>]) -> Outcome<O> {
        let mut outcome =
            Outcome { live: Vec::new(), overridden: Vec::new(), contradicting: Vec::new() };
        let overridden = |loser: &AddedRule<O>, winner: &AddedRule<O>| Overridden {
            loser: loser.origin,
            winner: winner.origin,
            verdict: winner.verdict,
        };
        let is_always = |rule: &&AddedRule<O>| Some(rule.condition) == self.unconditional;
        if let Some(always) = rules.iter().find(is_always) {
            let losers = rules.iter().filter(|rule| rule.verdict != always.verdict);
            outcome.overridden.extend(losers.map(|loser| overridden(loser, always)));
            outcome.live.push(*always);
            return outcome;
        }
        if have_one_verdict(rules) {
            outcome.live = self.uniform(rules);
            return outcome;
        }
        let mut first_rules: BTreeMap<usize, usize> = BTreeMap::new();
        for (place, rule) in rules.iter().enumerate() {
            first_rules.entry(rule.condition).or_insert(place);
        }
        let first_with =
            |condition: &usize| first_rules.get(condition).and_then(|at| rules.get(*at));
        let conditions: Vec<usize> = first_rules.keys().copied().collect();
        let implied = self.implied(&conditions);
        let mut live = BTreeSet::new();
        for (index, rule) in rules.iter().enumerate() {
            let place = conditions.binary_search(&rule.condition).ok();
            let winner = place.and_then(|place| implied.get(place).copied().flatten());
            if let Some(winner) = winner.as_ref().and_then(first_with) {
                if winner.verdict != rule.verdict {
                    outcome.overridden.push(overridden(rule, winner));
                }
                continue;
            }
            match first_with(&rule.condition) {
                Some(same) if same.verdict != rule.verdict => {
                    outcome.contradicting.push((*same, *rule));
                }
                _ => {}
            }
            live.insert(index);
        }
        let order = self.order(rules);
        let mut seen = BTreeSet::new();
        let decides = order.iter().filter(|index| live.contains(index));
        let decides = decides.filter_map(|index| rules.get(*index));
        outcome.live.extend(decides.filter(|rule| seen.insert(rule.condition)).copied());
        outcome
    }

    /// The rules with an effect among conditional rules with one verdict, in order of precedence: of each condition the first one,
    /// and none that implies another one.
    fn uniform(&self, rules: &[AddedRule<O>]) -> Vec<AddedRule<O>> {
        let mut first: Vec<(usize, &AddedRule<O>)> =
            rules.iter().map(|rule| (rule.condition, rule)).collect();
        // Stable: of equal conditions, the first rule stays.
        first.sort_by_key(|(condition, _)| *condition);
        first.dedup_by_key(|(condition, _)| *condition);
        let conditions: Vec<usize> = first.iter().map(|(condition, _)| *condition).collect();
        let implied = self.implied(&conditions);
        let live = first.into_iter().zip(implied).filter(|(_, implied)| implied.is_none());
        let mut live: Vec<(usize, &AddedRule<O>)> = live.map(|(rule, _)| rule).collect();
        live.sort_unstable_by(|(a, _), (b, _)| precedence(&self.conditions, *a, *b));
        live.into_iter().map(|(_, rule)| *rule).collect()
    }

    /// The indices of the rules of one syscall in order of precedence. Each is inserted, also one whose condition another
    /// rule has: libseccomp may find it an earlier place.
    fn order(&self, rules: &[AddedRule<O>]) -> Vec<usize> {
        let mut order = Order::new(self.arch().is_64bit());
        for (index, rule) in rules.iter().enumerate() {
            if let Some(tests) = self.conditions.get(rule.condition) {
                order.add(tests, index);
            }
        }
        order.rules()
    }
}

/// The order in which two conditions decide; equal only for the same condition.
fn precedence(all: &[Conjunction], left: usize, right: usize) -> Ordering {
    match (all.get(left), all.get(right)) {
        (Some(left), Some(right)) => left.precedence(right),
        _ => left.cmp(&right),
    }
}

// The order in which conditional rules of one syscall decide where more than one matches.
//
// libseccomp's programs compare 32-bit words, one rule after the other: of a 64-bit argument the high word, then the
// low one. Rules that start with the same words share them. Words on the same level are ordered: the higher
// argument first; then EQ, NE and MASKED_EQ before LT and LE before GT and GE; then the larger value, for LT and LE
// the smaller one; words that are equal in all this stay in the order in which rules first added them. Two words are
// the same if the program compares them in the same way, whatever the operator: `>` and `<=` are one comparison with
// the branches swapped, and so are `>=` and `<`, and the high words of all four.

/// The rank of a word on its level: the smallest comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Rank {
    /// 2 × argument, plus 1 for the high word; inverted.
    place: u8,
    /// EQ, NE and MASKED_EQ, then LT and LE, then GT and GE.
    class: u8,
    /// Inverted except for LT and LE.
    value: u32,
}

/// A comparison of a word by a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Word {
    /// 2 × argument, plus 1 for the high word.
    place: u8,
    test: WordTest,
    value: u32,
    mask: u32,
}

/// The operator of the comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum WordTest {
    Equal,
    Masked,
    Above,
    AtLeast,
}

/// The conditional rules of one syscall, in order of precedence, built by adding one after the other.
#[derive(Debug)]
struct Order {
    is_64bit: bool,
    /// For each added word, the rules that end with it: several if their conditions are the same, or if one holds where
    /// the other does not. The index of a word is the level of the words that follow it; level 0 holds the first words
    /// of all rules.
    ends: Vec<Vec<usize>>,
    /// For each comparison on a level, the rank and the index of the first such word.
    words: BTreeMap<(usize, Word), (Rank, usize)>,
    /// The words of each level, in order of rank.
    levels: BTreeMap<(usize, Rank, usize), ()>,
}

impl Order {
    pub(super) fn new(is_64bit: bool) -> Order {
        Order { is_64bit, ends: vec![Vec::new()], words: BTreeMap::new(), levels: BTreeMap::new() }
    }

    /// Adds a rule with this condition.
    pub(super) fn add(&mut self, tests: &Conjunction, rule: usize) {
        let mut level = 0;
        for test in tests.comparisons() {
            let halves: &[bool] = if self.is_64bit { &[true, false] } else { &[false] };
            for high in halves {
                level = self.word(level, *test, *high);
            }
        }
        if let Some(end) = self.ends.get_mut(level) {
            end.push(rule);
        }
    }

    /// The level that follows a word on a level; adds the word if necessary.
    fn word(&mut self, level: usize, test: Comparison, high: bool) -> usize {
        let (rank, word) = word(test, high);
        let after =
            (Bound::Excluded((level, rank, usize::MAX)), Bound::Excluded((level + 1, FIRST, 0)));
        let next = self.levels.range(after).next().map(|((_, _, next), ())| *next);
        // libseccomp scans a level up to the word's own rank, so it finds an equal word only up to there.
        let found = self.words.get(&(level, word));
        if let Some((_, same)) = found.filter(|(at, same)| *at <= rank || next == Some(*same)) {
            return *same;
        }
        let new = self.ends.len();
        self.ends.push(Vec::new());
        self.levels.insert((level, rank, new), ());
        self.words.insert((level, word), (rank, new));
        new
    }

    /// The rules in order of precedence.
    pub(super) fn rules(&self) -> Vec<usize> {
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

/// The smallest rank.
const FIRST: Rank = Rank { place: 0, class: 0, value: 0 };

fn word(test: Comparison, high: bool) -> (Rank, Word) {
    let half = |value: u64| if high { (value >> 32) as u32 } else { value as u32 };
    let (class, operator, mask) = match test.op() {
        Op::Eq | Op::Ne => (0, WordTest::Equal, u32::MAX),
        Op::MaskedEq(mask) => (0, WordTest::Masked, half(mask)),
        Op::Lt | Op::Ge if !high => {
            (if test.op() == Op::Lt { 1 } else { 2 }, WordTest::AtLeast, u32::MAX)
        }
        Op::Lt | Op::Le => (1, WordTest::Above, u32::MAX),
        Op::Ge | Op::Gt => (2, WordTest::Above, u32::MAX),
    };
    let place = 2 * test.arg() + u8::from(high);
    let value = half(test.value());
    let rank = Rank { place: !place, class, value: if class == 1 { value } else { !value } };
    (rank, Word { place, test: operator, value, mask })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ruleset::by_syscall::Target;
    use callgate_core::{Arch, Verdict};

    #[test]
    fn of_rules_with_one_verdict_those_that_imply_or_repeat_another_have_no_effect() {
        let test = |arg, value| Comparison::new(arg, Op::Eq, value).unwrap();
        let conditions: [&[Comparison]; 4] =
            [&[test(0, 5)], &[test(0, 5), test(1, 7)], &[test(0, 5)], &[test(1, 9)]];
        let mut set = RuleSet::new(Arch::X86_64);
        for (origin, comparisons) in conditions.into_iter().enumerate() {
            set.add(1, comparisons, Verdict::ALLOW, origin);
        }
        let outcome = set.outcome(set.rules_of(Target::Number(1)));
        let live: Vec<usize> = outcome.live.iter().map(|rule| rule.origin).collect();
        assert_eq!(live, [3, 0]);
        assert!(outcome.overridden.is_empty() && outcome.contradicting.is_empty());
    }

    /// Few conditions and many, beside all pairs.
    #[test]
    fn the_first_implied_condition_is_found() {
        let mut found = 0;
        for count in [3, 20, 6 * MANY] {
            let mut set = RuleSet::new(Arch::X86_64);
            let mut seed = count as u64;
            for _ in 0..count {
                seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888);
                let random = |shift: u32| seed >> shift & 7;
                let tests = (0..6).filter(|arg| seed >> (20 + arg) & 3 == 3).map(|arg| {
                    Comparison::new(arg, Op::Eq, random(30 + 4 * u32::from(arg)) / 3).unwrap()
                });
                let tests: Vec<Comparison> = tests.collect();
                if !tests.is_empty() {
                    set.add(1, &tests, Verdict::ALLOW, ());
                }
            }
            let conditions: Vec<usize> = (0..set.conditions.len()).collect();
            let implied = set.implied(&conditions);
            for (condition, implied) in conditions.iter().zip(implied) {
                let tests = set.comparisons(*condition);
                let others = conditions.iter().copied().filter(|other| other != condition);
                let is_implied =
                    |other: &usize| set.comparisons(*other).iter().all(|one| tests.contains(one));
                let first =
                    others.filter(is_implied).min_by(|a, b| precedence(&set.conditions, *a, *b));
                assert_eq!(implied, first, "{tests:?}");
                found += usize::from(implied.is_some());
            }
            assert_eq!(conditions.len() >= MANY, count > MANY);
        }
        assert!(found > 100, "{found}");
    }

    fn order(is_64bit: bool, tests: &[(u8, Op, u64)]) -> Vec<usize> {
        let mut order = Order::new(is_64bit);
        for (condition, (arg, op, value)) in tests.iter().enumerate() {
            let test = Comparison::new(*arg, *op, *value).unwrap();
            order.add(&Conjunction::new(&[test], is_64bit), condition);
        }
        order.rules()
    }

    #[test]
    fn arguments_classes_and_values_precede_the_order_of_insertion() {
        for is_64bit in [true, false] {
            let tests =
                [(0, Op::Gt, 5), (0, Op::Gt, 9), (0, Op::Lt, 7), (0, Op::Eq, 1), (1, Op::Ge, 0)];
            // With 64 bits, the high words of `>` and `<` with the same value are the same comparison, so the
            // classes are compared at the low word.
            assert_eq!(order(is_64bit, &tests), [4, 3, 2, 1, 0]);
        }
    }

    #[test]
    fn opposite_operators_share_their_words() {
        let tests = [(0, Op::Ge, 5), (0, Op::Ne, 0), (0, Op::Lt, 5)];
        for is_64bit in [true, false] {
            assert_eq!(order(is_64bit, &tests), [1, 0, 2]);
        }
    }

    #[test]
    fn conditions_of_equal_rank_stay_in_the_order_of_insertion() {
        let (one, mask) = ((0, Op::Eq, 1), (0, Op::MaskedEq(1), 1));
        for is_64bit in [true, false] {
            assert_eq!(order(is_64bit, &[one, mask]), [0, 1]);
            assert_eq!(order(is_64bit, &[mask, one]), [0, 1]);
        }
        // With 32 bits the larger value decides; with 64 bits the high words have equal rank, so insertion decides.
        let (three, mask) = ((0, Op::Eq, 3), (0, Op::MaskedEq(1), 1));
        assert_eq!(order(false, &[mask, three]), [1, 0]);
        assert_eq!(order(true, &[mask, three]), [0, 1]);
    }
}
