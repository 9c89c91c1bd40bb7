//! From the rules of a policy to clauses.

use callgate_bpf::data::Word;

use super::distinct::Distinct;
use super::word_test::{Literal, Simplified, WordTest};
use super::{Cases, Clause, NumberInterval, SectionCases};
use crate::policy::{Cmp, Condition, Policy, Rule, Section, Shape, Test, for_each_interval};

/// The maximum number of clauses of a rule, and of literals of a clause.
const MAX_OF_RULE: usize = 1 << 12;

/// The maximum number of clauses in all lists.
const MAX_LISTED: usize = 1 << 16;

impl Cases {
    /// The cases of a policy; `None` if it has variables, or conditions with unusual forms: conditions within conditions
    /// within conditions, order comparisons of some bits, very many alternatives.
    pub fn of_policy(policy: &Policy) -> Option<Cases> {
        if !policy.variables().is_empty() {
            return None;
        }
        let mut builder = Builder::default();
        let sections = policy.sections().iter().map(|section| builder.section(section));
        let sections = sections.collect::<Option<Vec<SectionCases>>>()?;
        Some(Cases {
            sections,
            clauses: builder.clauses.into_values(),
            lists: builder.lists.into_values(),
            bad_arch: policy.bad_arch(),
            endian: policy.endian(),
        })
    }
}

#[derive(Default)]
struct Builder {
    clauses: Distinct<Clause>,
    lists: Distinct<Vec<usize>>,
    listed: usize,
}

impl Builder {
    fn section(&mut self, section: &Section) -> Option<SectionCases> {
        let mut of_rules = Vec::with_capacity(section.rules.len());
        for rule in &section.rules {
            of_rules.push(self.clauses_of(rule)?);
        }
        let default = Clause { literals: Vec::new(), verdict: section.default };
        let default = self.clauses.index_of(default);
        let empty = self.lists.index_of(vec![default]);
        let mut intervals: Vec<(u32, usize)> = vec![(0, empty)];
        for_each_interval(&section.rules, u32::MAX, |first, matching| {
            let of_rules = matching.iter().filter_map(|rule| of_rules.get(*rule));
            let list: Vec<usize> = of_rules.flatten().copied().chain([default]).collect();
            self.listed += list.len();
            let list = self.list(list);
            match intervals.last_mut() {
                Some(last) if last.0 == first => last.1 = list,
                Some(last) if last.1 == list => {}
                _ => intervals.push((first, list)),
            }
            if self.listed <= MAX_LISTED { Ok(()) } else { Err(()) }
        })
        .ok()?;
        let mut ends: Vec<u32> = intervals.iter().skip(1).map(|(first, _)| first - 1).collect();
        ends.push(u32::MAX);
        let of = |((first, list), last)| NumberInterval { first, last, list };
        let intervals = intervals.into_iter().zip(ends).map(of).collect();
        Some(SectionCases { token: section.token(), intervals })
    }

    /// The index of a list, without clauses that have no effect.
    fn list(&mut self, mut list: Vec<usize>) -> usize {
        let clause = |index: &usize| self.clauses.get(*index);
        let always = list.iter().position(|index| clause(index).is_some_and(Clause::is_always));
        if let Some(always) = always {
            list.truncate(always + 1);
        }
        // What decides last needs no condition.
        let verdict = list.last().and_then(clause).map(|clause| clause.verdict);
        let of_last = |index: &usize| clause(index).map(|clause| clause.verdict) == verdict;
        let same = list.iter().rev().take_while(|index| of_last(index)).count();
        if let Some(last) = list.pop().filter(|_| same > 0) {
            list.truncate(list.len() + 1 - same);
            list.push(last);
        }
        self.lists.index_of(list)
    }

    /// The clauses of a rule.
    fn clauses_of(&mut self, rule: &Rule) -> Option<Vec<usize>> {
        let alternatives = match rule.when.shape() {
            Shape::Any(parts) => parts.as_slice(),
            _ => std::slice::from_ref(&rule.when),
        };
        let mut clauses = Vec::with_capacity(alternatives.len());
        for alternative in alternatives {
            let tests = match alternative.shape() {
                Shape::All(parts) => parts.as_slice(),
                _ => std::slice::from_ref(alternative),
            };
            for literals in conjunctions(tests)? {
                let clause = Clause { literals, verdict: rule.verdict };
                clauses.push(self.clauses.index_of(clause));
                if clauses.len() > MAX_OF_RULE {
                    return None;
                }
            }
        }
        Some(clauses)
    }
}

impl Clause {
    fn is_always(&self) -> bool {
        self.literals.is_empty()
    }
}

/// The conjunctions of literals one of which holds exactly if all of these tests do.
fn conjunctions(tests: &[Condition]) -> Option<Vec<Vec<Literal>>> {
    let mut all: Vec<Vec<Literal>> = vec![Vec::with_capacity(2 * tests.len())];
    for test in tests {
        let Shape::Test(test) = test.shape() else { return None };
        let (one, other) = alternatives(test)?;
        let added = match other {
            Some(_) => all.clone(),
            None => Vec::new(),
        };
        let mut next = conjoined(all, one);
        next.extend(other.map(|other| conjoined(added, other)).into_iter().flatten());
        if next.len() > MAX_OF_RULE || tests.len() > MAX_OF_RULE {
            return None;
        }
        all = next;
    }
    all.iter_mut().for_each(|literals| literals.sort_unstable());
    Some(all)
}

/// The conjunctions with further comparisons, without those that are never true.
fn conjoined(mut all: Vec<Vec<Literal>>, parts: Alternative) -> Vec<Vec<Literal>> {
    all.retain_mut(|literals| {
        parts.iter().flatten().all(|part| match part {
            Simplified::Constant(holds) => *holds,
            Simplified::Literal(literal) => {
                if !literals.contains(literal) {
                    literals.push(*literal);
                }
                true
            }
        })
    });
    all
}

/// Up to two comparisons of words that must hold.
type Alternative = [Option<Simplified>; 2];

/// The alternatives one of which holds exactly if a test does; `None` if it orders some bits of a word.
fn alternatives(test: &Test) -> Option<(Alternative, Option<Alternative>)> {
    let mask = test.mask & test.field.full_mask();
    let half = |value: u64| ((value >> 32) as u32, value as u32);
    let ((high_mask, low_mask), (high_value, low_value)) = (half(mask), half(test.value));
    let (high, low) = (test.field.high_word(), test.field.low_word());
    let is_order = !matches!(test.cmp, Cmp::Eq | Cmp::Ne);
    let is_whole = |mask: u32| mask == 0 || mask == u32::MAX;
    if test.field.bits() < 32 || is_order && !(is_whole(high_mask) && is_whole(low_mask)) {
        return None;
    }
    // A field without a high word has the value 0 there.
    let of_high = |test: &dyn Fn(Word) -> WordTest| {
        let test = test(high.unwrap_or(low));
        let test = if high.is_some() { test } else { WordTest { mask: 0, ..test } };
        test.simplified()
    };
    let high_equal = of_high(&|word| WordTest::equal(word, high_mask, high_value));
    let low_equal = WordTest::equal(low, low_mask, low_value).simplified();
    let at_least = |word: Word, mask: u32, value: Option<u32>| match value {
        Some(value) => WordTest::at_least(word, mask, value).simplified(),
        None => Simplified::Constant(false),
    };
    let high_above = match high_value.checked_add(1) {
        Some(next) => of_high(&|word| WordTest::at_least(word, high_mask, next)),
        None => Simplified::Constant(false),
    };
    let high_below = of_high(&|word| WordTest::at_least(word, high_mask, high_value)).negated();
    let low_at_least = at_least(low, low_mask, Some(low_value));
    let low_above = at_least(low, low_mask, low_value.checked_add(1));
    let one = |a| [Some(a), None];
    let both = |a, b| [Some(a), Some(b)];
    Some(match test.cmp {
        Cmp::Eq => (both(high_equal, low_equal), None),
        Cmp::Ne => (one(high_equal.negated()), Some(one(low_equal.negated()))),
        Cmp::Ge => (one(high_above), Some(both(high_equal, low_at_least))),
        Cmp::Gt => (one(high_above), Some(both(high_equal, low_above))),
        Cmp::Lt => (one(high_below), Some(both(high_equal, low_at_least.negated()))),
        Cmp::Le => (one(high_below), Some(both(high_equal, low_above.negated()))),
    })
}
