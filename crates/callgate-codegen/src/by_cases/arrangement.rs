//! Other orders of the clauses of a list, with the same function.
//!
//! Consecutive clauses with the same verdict may change places. Where those that have tests in common are next to each other, as in
//! a prefix tree of the literals, the most frequent ones first, more of them share code. Clauses that exclude each other as the
//! alternatives of a comparison of 64 bits do stay together, because their code is shared then. A clause that implies another one
//! that decides before it, or with the same verdict right beside it, has no effect.

use callgate_core::{Literal, SeccompData, Word, are_alternatives};
use rustc_hash::FxHashMap as HashMap;

use super::literals::{LiteralId, Literals, MAX_LITERALS, Remaining, is_guard};

/// The maximum number of pairs of clauses that are compared.
const MAX_COMPARED: usize = 1 << 17;

/// The maximum number of syscalls by which clauses are sorted.
pub(crate) const MAX_SAMPLES: usize = u64::BITS as usize;

/// How clauses are sorted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Order {
    /// As they are.
    Given,
    /// By the literals that most clauses have; high halves that must be 0 last, because their code is shared at the end.
    Literals,
    /// By the words that most clauses test, so that they need not be loaded again; high halves that must be 0 last.
    Words,
    /// By the literals that most clauses have.
    AllLiterals,
    /// By the arguments, high halves first.
    Arguments,
}

impl Order {
    pub(super) const ALL: [Order; 5] =
        [Order::Given, Order::Literals, Order::Words, Order::AllLiterals, Order::Arguments];
}

/// The clauses of a list, the last of which always holds, in an order in which those with tests in common are next to each other.
/// Those that hold for most of the syscalls, of which there are at most [`MAX_SAMPLES`], come first.
pub(super) fn arranged(
    literals: &Literals,
    clauses: &[Remaining],
    order: Order,
    samples: &[SeccompData],
) -> Vec<Remaining> {
    let mut arranged = Vec::with_capacity(clauses.len());
    for run in clauses.chunk_by(|a, b| a.verdict == b.verdict) {
        let mut groups = groups(literals, run);
        if order != Order::Given {
            let counts = Counts::of(literals, run);
            let places = |clause: &Remaining| places(literals, &counts, clause, order);
            groups.sort_by_cached_key(|group| group.iter().map(places).min());
        }
        if !samples.is_empty() {
            groups = frequent_first(literals, groups, samples);
        }
        arranged.extend(groups.into_iter().flatten());
    }
    arranged
}

/// Consecutive clauses of which each two are alternatives.
fn groups<'r>(literals: &Literals, run: &'r [Remaining]) -> Vec<&'r [Remaining]> {
    let mut groups = Vec::with_capacity(run.len());
    let mut rest = run;
    while !rest.is_empty() {
        let mut len = 1;
        while let Some((next, group)) = rest.get(..=len).and_then(<[Remaining]>::split_last) {
            let excludes = |one: &Remaining| are_alternatives(literals.of(one), literals.of(next));
            if len == MAX_GROUP || !group.iter().all(excludes) {
                break;
            }
            len += 1;
        }
        let (group, others) = rest.split_at(len);
        groups.push(group);
        rest = others;
    }
    groups
}

/// The maximum number of clauses that stay together: of six comparisons of 64 bits.
const MAX_GROUP: usize = 64;

/// The groups of clauses, those first that hold for the most syscalls for which none before them holds.
fn frequent_first<'r>(
    literals: &Literals,
    groups: Vec<&'r [Remaining]>,
    samples: &[SeccompData],
) -> Vec<&'r [Remaining]> {
    let holds = |clause: &Remaining, data: &SeccompData| {
        literals.of(clause).all(|literal| literal.is_true_for(data.word(literal.test.word)))
    };
    let permitted = |group: &[Remaining]| {
        let of_sample = |(at, data): (usize, &SeccompData)| {
            u64::from(group.iter().any(|clause| holds(clause, data))) << at
        };
        samples.iter().take(MAX_SAMPLES).enumerate().map(of_sample).fold(0, |a, b| a | b)
    };
    let mut rest: Vec<(u64, &[Remaining])> =
        groups.into_iter().map(|group| (permitted(group), group)).collect();
    let mut sorted = Vec::with_capacity(rest.len());
    let mut left = u64::MAX;
    loop {
        let count =
            |(_, (permitted, _)): &(usize, &(u64, &[Remaining]))| (permitted & left).count_ones();
        // The first one of equally good ones.
        let best = rest.iter().enumerate().rev().max_by_key(count);
        let Some(at) = best.filter(|best| count(best) > 0).map(|(at, _)| at) else { break };
        let (permitted, group) = rest.remove(at);
        left &= !permitted;
        sorted.push(group);
    }
    sorted.extend(rest.into_iter().map(|(_, group)| group));
    sorted
}

/// In how many clauses literals and words are.
struct Counts {
    literals: HashMap<LiteralId, u32>,
    words: [u32; Word::COUNT],
}

impl Counts {
    fn of(literals: &Literals, clauses: &[Remaining]) -> Counts {
        let mut counts = Counts { literals: HashMap::default(), words: [0; Word::COUNT] };
        for clause in clauses {
            for (id, literal) in clause.ids().iter().zip(literals.of(clause)) {
                *counts.literals.entry(*id).or_default() += 1;
                counts.words[literal.test.word.index()] += 1;
            }
        }
        counts
    }
}

/// The literals of a clause, sorted by their places in the order of all.
fn places(
    literals: &Literals,
    counts: &Counts,
    clause: &Remaining,
    order: Order,
) -> [Place; MAX_LITERALS] {
    let mut places = [Place::LAST; MAX_LITERALS];
    let of_clause = clause.ids().iter().zip(literals.of(clause));
    for (place, (id, literal)) in places.iter_mut().zip(of_clause) {
        let word = literal.test.word;
        let by_literal = u32::MAX - counts.literals.get(id).copied().unwrap_or(0);
        let by_word = u32::MAX - counts.words[word.index()];
        let by_argument = word
            .argument()
            .map_or(u32::MAX, |(argument, is_high)| 2 * u32::from(argument) + u32::from(!is_high));
        let rank = match order {
            Order::Given | Order::Literals | Order::AllLiterals => [by_literal, by_word],
            Order::Words => [by_word, by_literal],
            Order::Arguments => [by_argument, by_literal],
        };
        let is_last = matches!(order, Order::Literals | Order::Words) && is_guard(literal);
        *place = Place { is_last, rank, word: word.index(), id: *id };
    }
    places.sort_unstable();
    places
}

/// Where a literal of a clause is in the order of all.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Place {
    is_last: bool,
    rank: [u32; 2],
    word: usize,
    id: LiteralId,
}

impl Place {
    /// After all literals: a clause follows those that it is the beginning of.
    const LAST: Place =
        Place { is_last: true, rank: [u32::MAX; 2], word: usize::MAX, id: LiteralId::MAX };
}

/// The clauses without those that have no effect.
pub(super) fn effective(literals: &Literals, clauses: Vec<Remaining>) -> Vec<Remaining> {
    if clauses.len() * clauses.len() > 2 * MAX_COMPARED {
        return clauses;
    }
    let mut effective: Vec<Remaining> = Vec::with_capacity(clauses.len());
    for run in clauses.chunk_by(|a, b| a.verdict == b.verdict) {
        let start = effective.len();
        for clause in run {
            if effective.iter().any(|known| implies(literals, clause, known)) {
                continue;
            }
            // Those of the same verdict that this one makes needless.
            let mut at = 0;
            effective.retain(|known| {
                at += 1;
                at <= start || !implies(literals, known, clause)
            });
            effective.push(*clause);
        }
    }
    effective
}

/// Whether a clause only holds where another one does.
fn implies(literals: &Literals, clause: &Remaining, other: &Remaining) -> bool {
    let is_implied = |literal: &Literal| {
        literals.of(clause).any(|known| known == literal || known.decides(*literal) == Some(true))
    };
    literals.of(other).all(is_implied)
}

#[cfg(test)]
mod tests {
    use callgate_core::policy::{Cmp, Condition, Field, Policy, Rule, Section, Test};
    use callgate_core::{Arch, Cases, SyscallSet, Verdict, WordTest};

    use super::*;

    const DENY: Verdict = Verdict::errno(1);

    /// The clauses of one syscall with rules, each with some comparisons of low halves.
    fn clauses(rules: &[(&[(u8, Cmp, u64)], Verdict)]) -> (Literals, Vec<Remaining>) {
        let test = |(argument, cmp, value): &(u8, Cmp, u64)| {
            let field = Field::arg(*argument).unwrap();
            Condition::test(Test { mask: u64::from(u32::MAX), ..Test::new(field, *cmp, *value) })
        };
        let rules = rules.iter().map(|(tests, verdict)| Rule {
            syscalls: SyscallSet::one(7),
            when: Condition::all(tests.iter().map(test)),
            verdict: *verdict,
        });
        let section = Section::new(Arch::X86_64, rules.collect(), DENY);
        let cases = Cases::of_policy(&Policy::new(vec![section], DENY).unwrap()).unwrap();
        let list = (0..cases.lists()).max_by_key(|list| cases.list(*list).count()).unwrap();
        let mut literals = Literals::default();
        let clauses = cases.list(list).map(|clause| literals.clause(clause).unwrap()).collect();
        (literals, clauses)
    }

    #[test]
    fn clauses_with_common_tests_are_next_to_each_other() {
        use Cmp::Eq;
        let one = |a, b| [(0, Eq, a), (1, Eq, b)];
        let (first, second, third, fourth) = (one(1, 5), one(2, 6), one(1, 7), one(2, 8));
        let rules = [&first, &second, &third, &fourth].map(|tests| (&tests[..], Verdict::ALLOW));
        let (literals, clauses) = clauses(&rules);
        for order in [Order::Literals, Order::Words, Order::AllLiterals] {
            let arranged = arranged(&literals, &clauses, order, &[]);
            assert_eq!(arranged, [0, 2, 1, 3, 4].map(|at: usize| clauses[at]));
        }
    }

    /// The first and the last one test the same word, and the others another one with the same value.
    #[test]
    fn words_or_literals_come_first() {
        use Cmp::Eq;
        let one = |argument, value| [(argument, Eq, value)];
        let tests = [one(0, 1), one(1, 9), one(2, 3), one(0, 2), one(0, 3)];
        let second = [(1, Eq, 9), (2, Eq, 4)];
        let mut rules = tests.each_ref().map(|tests| (&tests[..], Verdict::ALLOW)).to_vec();
        rules.push((&second, Verdict::ALLOW));
        let (literals, clauses) = clauses(&rules);
        let orders = [Order::Literals, Order::Words].map(|order| {
            let arranged = arranged(&literals, &clauses, order, &[]);
            let place = |one| clauses.iter().position(|clause| clause == one).unwrap();
            arranged.iter().map(place).collect::<Vec<usize>>()
        });
        assert_eq!(orders, [[5, 1, 0, 3, 4, 2, 6], [0, 3, 4, 5, 1, 2, 6]]);
    }

    #[test]
    fn the_clauses_for_most_syscalls_come_first() {
        use Cmp::Eq;
        let tests = [[(0, Eq, 1)], [(1, Eq, 2)], [(2, Eq, 3)], [(3, Eq, 4)]];
        let rules = tests.each_ref().map(|tests| (&tests[..], Verdict::ALLOW));
        let (literals, clauses) = clauses(&rules);
        // The second rule holds for one of them beside the third, and for none besides that the others do not cover.
        let samples = [[0, 2, 3, 0], [0, 0, 3, 0], [0, 2, 0, 4], [0, 0, 0, 4], [0, 0, 0, 4]];
        let samples = samples
            .map(|[a, b, c, d]| SeccompData { args: [a, b, c, d, 0, 0], ..SeccompData::default() });
        let arranged = arranged(&literals, &clauses, Order::Given, &samples);
        assert_eq!(arranged, [3, 2, 0, 1, 4].map(|at: usize| clauses[at]));
    }

    /// Two comparisons of 64 bits, each of which is two clauses.
    #[test]
    fn alternatives_stay_together() {
        let high = |value: u32, literals: &mut Literals, is_equal: bool| {
            let test = WordTest {
                word: Word::arg_high(0).unwrap(),
                mask: u32::MAX,
                is_order: !is_equal,
                value: value + u32::from(!is_equal),
            };
            literals.id(Literal { test, holds: true }).unwrap()
        };
        let low = |value: u32, literals: &mut Literals| {
            let word = Word::arg_low(0).unwrap();
            let test = WordTest { word, mask: u32::MAX, is_order: true, value };
            literals.id(Literal { test, holds: true }).unwrap()
        };
        let mut literals = Literals::default();
        let mut all = Vec::new();
        for value in [7, 9] {
            let mut above = Remaining::new(Verdict::ALLOW);
            above.push(high(value, &mut literals, false)).unwrap();
            let mut equal = Remaining::new(Verdict::ALLOW);
            equal.push(high(value, &mut literals, true)).unwrap();
            equal.push(low(5, &mut literals)).unwrap();
            all.extend([above, equal]);
        }
        let found: Vec<usize> = groups(&literals, &all).iter().map(|group| group.len()).collect();
        assert_eq!(found, [2, 2]);
        for order in Order::ALL {
            let arranged = arranged(&literals, &all, order, &[]);
            let at = |one: usize| arranged.iter().position(|clause| *clause == all[one]).unwrap();
            assert_eq!([at(1), at(3)], [at(0) + 1, at(2) + 1], "{order:?}");
        }
    }

    #[test]
    fn clauses_without_effect_are_removed_and_verdicts_keep_their_order() {
        use Cmp::{Eq, Ge};
        let narrow = [(0, Ge, 9), (1, Eq, 3)];
        let (wide, value, other) = ([(0, Ge, 5)], [(0, Eq, 7)], [(1, Eq, 3)]);
        let (allow, trap) = (Verdict::ALLOW, Verdict::errno(2));
        let rules =
            [(&narrow[..], allow), (&wide[..], allow), (&value[..], trap), (&other[..], trap)];
        let (literals, clauses) = clauses(&rules);
        let effective = effective(&literals, clauses.clone());
        // Where the second one holds, the third one never decides; the first one is a part of the second.
        assert_eq!(effective, [1, 3, 4].map(|at: usize| clauses[at]));
    }
}
