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

impl<O: Copy> RuleSet<O> {
    /// For each condition, the conditions that consist of some of its comparisons, and so hold wherever it holds.
    /// Conditions with more comparisons than a rule of libseccomp can have get none.
    pub(super) fn covering(&self) -> Vec<Vec<usize>> {
        let lengths =
            self.conditions.iter().fold(0u64, |set, tests| set | 1 << tests.len().min(63));
        let some = |tests: &Conjunction| {
            let all = 1u32.checked_shl(tests.len() as u32).filter(|_| tests.len() <= ARGS);
            let is_length = |subset: &u32| lengths >> subset.count_ones() & 1 == 1;
            let subsets = (1..all.unwrap_or(1).saturating_sub(1)).filter(is_length);
            subsets.filter_map(|bits| self.indices.get(&tests.subset(bits)).copied()).collect()
        };
        self.conditions.iter().map(some).collect()
    }

    /// The effect of the rules of one syscall, with what [`RuleSet::covering`] returned.
    pub(super) fn outcome(&self, rules: &[AddedRule<O>], covering: &[Vec<usize>]) -> Outcome<O> {
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
            outcome.live = self.uniform(rules, covering);
            return outcome;
        }
        let mut first_rules: BTreeMap<usize, usize> = BTreeMap::new();
        for (place, rule) in rules.iter().enumerate() {
            first_rules.entry(rule.condition).or_insert(place);
        }
        let first_with =
            |condition: &usize| first_rules.get(condition).and_then(|at| rules.get(*at));
        let mut live = BTreeSet::new();
        for (index, rule) in rules.iter().enumerate() {
            let shorter = shorter(rule.condition, covering);
            let shorter = shorter.iter().filter(|index| first_rules.contains_key(index));
            let winner = shorter.min_by(|a, b| precedence(&self.conditions, **a, **b));
            if let Some(winner) = winner.and_then(first_with) {
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

    /// The rules with an effect among conditional rules with one verdict.
    fn uniform(&self, rules: &[AddedRule<O>], covering: &[Vec<usize>]) -> Vec<AddedRule<O>> {
        let conditions: Vec<usize> = rules.iter().map(|rule| rule.condition).collect();
        let places = deciding(&self.conditions, &conditions, covering);
        places.into_iter().filter_map(|place| rules.get(place)).copied().collect()
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

/// The indices of the conditions that decide, in order of precedence: each condition once, and none that implies another one.
/// Independent of the origin of rules, so that it is compiled once.
fn deciding(all: &[Conjunction], conditions: &[usize], covering: &[Vec<usize>]) -> Vec<usize> {
    let mut places: Vec<(usize, usize)> =
        conditions.iter().enumerate().map(|(place, condition)| (*condition, place)).collect();
    if conditions.iter().any(|condition| !shorter(*condition, covering).is_empty()) {
        let known: BTreeSet<usize> = conditions.iter().copied().collect();
        let is_covered =
            |condition| shorter(condition, covering).iter().any(|of| known.contains(of));
        places.retain(|(condition, _)| !is_covered(*condition));
    }
    places.sort_by(|(a, _), (b, _)| precedence(all, *a, *b));
    places.dedup_by_key(|(condition, _)| *condition);
    places.into_iter().map(|(_, place)| place).collect()
}

/// The order in which two conditions decide; equal only for the same condition.
fn precedence(all: &[Conjunction], left: usize, right: usize) -> Ordering {
    match (all.get(left), all.get(right)) {
        (Some(left), Some(right)) => left.precedence(right),
        _ => left.cmp(&right),
    }
}

/// The conditions that this one implies.
fn shorter(condition: usize, covering: &[Vec<usize>]) -> &[usize] {
    covering.get(condition).map_or(&[], Vec::as_slice)
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
        let outcome = set.outcome(set.rules_of(Target::Number(1)), &set.covering());
        let live: Vec<usize> = outcome.live.iter().map(|rule| rule.origin).collect();
        assert_eq!(live, [3, 0]);
        assert!(outcome.overridden.is_empty() && outcome.contradicting.is_empty());
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
