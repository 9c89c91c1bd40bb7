//! From the rules of a policy to clauses.

use crate::Verdict;

use super::clause_table::ClauseTable;
use super::distinct::Distinct;
use super::word_comparison::{Literal, Simplified, WordTest};
use super::{Cases, NumberInterval, SectionCases};
use crate::policy::{Cmp, Policy, Rule, Section, Shape, Test, for_each_interval};

/// The maximum number of clauses of a rule.
const MAX_OF_RULE: usize = 1 << 12;

/// The maximum number of literals of a clause. Few rules compare more than the halves of six arguments.
const MAX_LITERALS: usize = 16;

/// The maximum number of rules and clauses in all lists.
const MAX_LISTED: usize = 1 << 16;

/// The maximum number of comparisons that are added to conjunctions. Beyond, the MTBDD takes less time.
const MAX_ADDED: usize = 1 << 17;

impl Cases {
    /// The cases of a policy; `None` if it has variables, or very many alternatives.
    pub fn of_policy(policy: &Policy) -> Option<Cases> {
        if !policy.variables().is_empty() {
            return None;
        }
        let mut builder = Builder::default();
        let sections = policy.sections().iter().map(|section| builder.section(section));
        Some(Cases {
            sections: sections.collect::<Option<_>>()?,
            clauses: builder.clauses,
            lists: builder.lists.into_values(),
            bad_arch: policy.bad_arch(),
            endian: policy.endian(),
            policy: policy.clone(),
        })
    }
}

#[derive(Default)]
struct Builder {
    clauses: ClauseTable,
    lists: Distinct<Vec<usize>>,
    /// The list that is being made.
    list: Vec<usize>,
    listed: usize,
    added: usize,
}

impl Builder {
    fn section(&mut self, section: &Section) -> Option<SectionCases> {
        // The clauses of all rules, and where those of each rule end.
        let mut of_rules = Vec::with_capacity(section.rules.len());
        let mut ends = Vec::with_capacity(section.rules.len());
        for rule in &section.rules {
            self.clauses_of(rule, &mut of_rules)?;
            ends.push(of_rules.len());
        }
        let of_rule = |rule: usize| {
            let start = rule.checked_sub(1).map_or(Some(0), |before| ends.get(before).copied());
            start.zip(ends.get(rule)).and_then(|(start, end)| of_rules.get(start..*end))
        };
        let start = self.clauses.literals.len();
        let default = self.clauses.index_of(start, Some(section.default));
        let empty = self.lists.index_of(&[default][..]);
        let mut intervals: Vec<(u32, usize)> = Vec::with_capacity(2 * section.rules.len() + 1);
        intervals.push((0, empty));
        for_each_interval(&section.rules, u32::MAX, |first, matching| {
            self.list.clear();
            for clauses in matching.iter().filter_map(|rule| of_rule(*rule)) {
                self.list.extend_from_slice(clauses);
            }
            self.list.push(default);
            self.listed += matching.len() + self.list.len();
            let list = self.index_of_list();
            match intervals.last_mut() {
                Some(last) if last.0 == first => last.1 = list,
                Some(last) if last.1 == list => {}
                _ => intervals.push((first, list)),
            }
            if self.listed <= MAX_LISTED { Ok(()) } else { Err(()) }
        })
        .ok()?;
        let lasts = intervals.iter().skip(1).map(|(first, _)| first.saturating_sub(1));
        let intervals = intervals.iter().zip(lasts.chain([u32::MAX]));
        let intervals =
            intervals.map(|(&(first, list), last)| NumberInterval { first, last, list });
        Some(SectionCases { token: section.token(), intervals: intervals.collect() })
    }

    /// The index of the list, without clauses that have no effect.
    fn index_of_list(&mut self) -> usize {
        let (clauses, list) = (&self.clauses, &mut self.list);
        let mut may_be_excluded = false;
        let decides = |clause: &usize| {
            let decides = !may_be_excluded && clauses.is_always(*clause);
            may_be_excluded = clauses.verdict(*clause).is_none();
            decides
        };
        if let Some(always) = list.iter().position(decides) {
            list.truncate(always + 1);
        }
        // The clauses right before the last one need not be tested if they have its verdict.
        if let Some(last) = list.pop() {
            let verdict = clauses.verdict(last);
            let is_needless =
                |clause: &usize| clauses.verdict(*clause).is_none_or(|own| Some(own) == verdict);
            while list.last().is_some_and(is_needless) {
                list.pop();
            }
            list.push(last);
        }
        self.lists.index_of(list.as_slice())
    }

    /// Adds the clauses of a rule.
    fn clauses_of(&mut self, rule: &Rule, clauses: &mut Vec<usize>) -> Option<()> {
        let before = clauses.len();
        let alternatives = match rule.when.shape() {
            Shape::Any(parts) => parts.as_slice(),
            _ => std::slice::from_ref(&rule.when),
        };
        for alternative in alternatives {
            let parts = match alternative.shape() {
                Shape::All(parts) => parts.as_slice(),
                _ => std::slice::from_ref(alternative),
            };
            let tests = parts.iter().map(|part| match part.shape() {
                Shape::Test(test) => Some(test),
                _ => None,
            });
            if tests.clone().all(|test| test.is_some()) {
                self.conjunction(tests.flatten(), rule.verdict, clauses)?;
            } else {
                for tests in alternative.alternatives(MAX_OF_RULE)? {
                    self.conjunction(tests.iter(), rule.verdict, clauses)?;
                }
            }
            if clauses.len() - before > MAX_OF_RULE {
                return None;
            }
        }
        Some(())
    }

    /// Adds clauses for a rule with these tests, all of which must hold: one; two if a test has two alternatives; if several have some,
    /// those that exclude the rule. There are as many of these as the tests have parts, not one for each combination.
    fn conjunction<'t>(
        &mut self,
        tests: impl Iterator<Item = &'t Test> + Clone,
        verdict: Verdict,
        clauses: &mut Vec<usize>,
    ) -> Option<()> {
        let others = tests.clone().filter_map(alternatives).filter_map(|(_, other)| other).count();
        if others > 1 {
            return self.excluded(tests, verdict, clauses);
        }
        for is_other in [false, true].into_iter().take(1 + others) {
            let (start, mut may_hold) = (self.clauses.literals.len(), true);
            for test in tests.clone() {
                self.charge()?;
                let (one, other) = alternatives(test)?;
                let parts = other.filter(|_| is_other).unwrap_or(one);
                may_hold &= add(parts, start, &mut self.clauses.literals)?;
            }
            match may_hold {
                true => clauses.push(self.clauses.index_of(start, Some(verdict))),
                false => self.clauses.literals.truncate(start),
            }
        }
        Some(())
    }

    /// Adds clauses that exclude a rule: for each test, those one of which holds exactly if the test does not. Then one that always holds.
    fn excluded<'t>(
        &mut self,
        tests: impl Iterator<Item = &'t Test>,
        verdict: Verdict,
        clauses: &mut Vec<usize>,
    ) -> Option<()> {
        for test in tests {
            let (one, other) = alternatives(&test.negated())?;
            for parts in [Some(one), other].into_iter().flatten() {
                self.charge()?;
                let start = self.clauses.literals.len();
                match add(parts, start, &mut self.clauses.literals)? {
                    true => clauses.push(self.clauses.index_of(start, None)),
                    false => self.clauses.literals.truncate(start),
                }
            }
        }
        clauses.push(self.clauses.index_of(self.clauses.literals.len(), Some(verdict)));
        Some(())
    }

    /// Counts a comparison that is added; `None` beyond the limit.
    fn charge(&mut self) -> Option<()> {
        self.added += 1;
        (self.added <= MAX_ADDED).then_some(())
    }
}

/// Adds comparisons to a conjunction, which starts in `literals` at `start` and stays sorted. Returns whether it may hold;
/// `None` if it has too many literals.
fn add(parts: Alternative, start: usize, literals: &mut Vec<Literal>) -> Option<bool> {
    for part in parts.into_iter().flatten() {
        match part {
            Simplified::Constant(true) => {}
            Simplified::Constant(false) => return Some(false),
            Simplified::Literal(literal) => {
                let before = literals.iter().skip(start).take_while(|known| **known < literal);
                let at = start + before.count();
                if literals.get(at) != Some(&literal) {
                    literals.insert(at, literal);
                }
            }
        }
    }
    (literals.len() - start <= MAX_LITERALS).then_some(true)
}

/// Up to two comparisons of words that must hold.
type Alternative = [Option<Simplified>; 2];

/// The alternatives one of which, and only one, holds exactly if a test does; `None` for a part of a word, which no filter of syscalls has.
fn alternatives(test: &Test) -> Option<(Alternative, Option<Alternative>)> {
    let mask = test.mask & test.field.full_mask();
    let half = |value: u64| ((value >> 32) as u32, value as u32);
    let ((high_mask, low_mask), (high_value, low_value)) = (half(mask), half(test.value));
    let (high, low) = (test.field.high_word(), test.field.low_word());
    if test.field.bits() < 32 {
        return None;
    }
    // A field without a high word has the value 0 there.
    let (high_word, high_mask) = (high.unwrap_or(low), if high.is_some() { high_mask } else { 0 });
    let equal = |word, mask, value| WordTest::equal(word, mask, value).simplified();
    let at_least = |word, mask, value: Option<u32>| match value {
        Some(value) => WordTest::at_least(word, mask, value).simplified(),
        None => Simplified::Constant(false),
    };
    let high_equal = || equal(high_word, high_mask, high_value);
    let low_equal = || equal(low, low_mask, low_value);
    let high_above = || at_least(high_word, high_mask, high_value.checked_add(1));
    let high_below = || at_least(high_word, high_mask, Some(high_value)).negated();
    let low_at_least = || at_least(low, low_mask, Some(low_value));
    let low_above = || at_least(low, low_mask, low_value.checked_add(1));
    let (high, low) = match test.cmp {
        Cmp::Eq => return Some(([Some(high_equal()), Some(low_equal())], None)),
        Cmp::Ne => (high_equal().negated(), low_equal().negated()),
        Cmp::Ge => (high_above(), low_at_least()),
        Cmp::Gt => (high_above(), low_above()),
        Cmp::Lt => (high_below(), low_at_least().negated()),
        Cmp::Le => (high_below(), low_above().negated()),
    };
    let equal = [Some(high_equal()), Some(low)];
    Some(match high == Simplified::Constant(false) {
        true => (equal, None),
        false => ([Some(high), None], Some(equal)),
    })
}
