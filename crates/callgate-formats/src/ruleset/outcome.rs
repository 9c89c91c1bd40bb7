//! Which of the rules of a syscall have an effect, and in which order they decide.

use std::cmp::Ordering;
use std::collections::{BTreeMap, BTreeSet};

use super::comparison::Conjunction;
use super::order::Order;
use super::rule_set::{AddedRule, Overridden, RuleSet};

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
        let first = rules.first().map(|rule| rule.verdict);
        if rules.iter().all(|rule| Some(rule.verdict) == first) {
            outcome.live = self.uniform(rules, covering);
            return outcome;
        }
        let mut first: BTreeMap<usize, AddedRule<O>> = BTreeMap::new();
        for rule in rules {
            first.entry(rule.condition).or_insert(*rule);
        }
        let mut live = BTreeSet::new();
        for (index, rule) in rules.iter().enumerate() {
            let shorter = shorter(rule, covering).iter().filter(|index| first.contains_key(index));
            let winner = shorter.min_by(|a, b| self.precedence(**a, **b));
            if let Some(winner) = winner.and_then(|winner| first.get(winner)) {
                if winner.verdict != rule.verdict {
                    outcome.overridden.push(overridden(rule, winner));
                }
                continue;
            }
            match first.get_mut(&rule.condition) {
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

    /// The rules with an effect, of conditional rules that have the same verdict.
    fn uniform(&self, rules: &[AddedRule<O>], covering: &[Vec<usize>]) -> Vec<AddedRule<O>> {
        let mut live = rules.to_vec();
        if live.iter().any(|rule| !shorter(rule, covering).is_empty()) {
            let conditions: BTreeSet<usize> = rules.iter().map(|rule| rule.condition).collect();
            let is_covered = |rule: &AddedRule<O>| {
                shorter(rule, covering).iter().any(|other| conditions.contains(other))
            };
            live.retain(|rule| !is_covered(rule));
        }
        live.sort_by(|a, b| self.precedence(a.condition, b.condition));
        live.dedup_by_key(|rule| rule.condition);
        live
    }

    /// The order in which two conditions decide; equal only for the same condition.
    fn precedence(&self, left: usize, right: usize) -> Ordering {
        match (self.conditions.get(left), self.conditions.get(right)) {
            (Some(left), Some(right)) => left.precedence(right),
            _ => left.cmp(&right),
        }
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

/// The conditions that hold wherever that of a rule holds.
fn shorter<'c, O>(rule: &AddedRule<O>, covering: &'c [Vec<usize>]) -> &'c [usize] {
    covering.get(rule.condition).map_or(&[], Vec::as_slice)
}
