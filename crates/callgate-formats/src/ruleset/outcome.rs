//! Which of the rules of a syscall have an effect, and in which order they decide.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::comparison::Conjunction;
use super::order::Order;
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

#[cfg(test)]
mod tests {
    use super::super::by_syscall::Target;
    use super::super::comparison::{Comparison, Op};
    use super::*;
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
}
