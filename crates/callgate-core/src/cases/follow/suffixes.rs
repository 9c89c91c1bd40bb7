//! Proofs of ends of a program, each once for the clauses that remain where paths meet.

use rustc_hash::FxHashSet as HashSet;

use crate::{Op, Word};

use super::super::clause_table::ClauseTable;
use super::super::word_comparison::{Literal, are_alternatives, is_informed};
use super::{MAX_STEPS, Path, Paths};

/// The maximum number of further steps where ends of the program are proved on their own.
const MAX_OF_SUFFIXES: u32 = 16_000_000;

/// The clauses from which the result of a test removes literals. Either choice is safe; the one that a program follows proves it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(in crate::cases) enum Tested {
    /// All: for programs that make each test once on a path.
    Once,
    /// The first one, and those right after it that [are informed](is_informed): for programs that test clause after clause.
    Again,
}

/// A clause, and those of its literals that are not decided; `None` if none is.
struct Remaining {
    index: usize,
    open: Option<Vec<Literal>>,
}

impl Remaining {
    fn open<'r>(&'r self, clauses: &'r ClauseTable) -> &'r [Literal] {
        match &self.open {
            Some(open) => open,
            None => clauses.get(self.index).map_or(&[], |clause| clause.literals),
        }
    }

    /// Removes the literals that are true; returns whether none is false.
    fn is_possible(
        &mut self,
        clauses: &ClauseTable,
        result: impl Fn(&Literal) -> Option<bool>,
    ) -> bool {
        let open = self.open(clauses);
        // Most results decide nothing of most clauses.
        if open.iter().all(|one| result(one).is_none()) {
            return true;
        }
        let mut left = Vec::with_capacity(open.len());
        for one in open {
            match result(one) {
                Some(true) => {}
                Some(false) => return false,
                None => left.push(*one),
            }
        }
        self.open = Some(left);
        true
    }
}

/// The end of a program from a load of an argument on, and the clauses that it must decide, for all syscalls of an interval: the first
/// ones, and where the others start in the list of the interval.
type Suffix = (usize, Vec<usize>, usize);

/// Proofs of ends of a program, where paths meet: what is known on a path shortens the list of clauses, and is forgotten.
/// Programs that test clause after clause have few different ends, but a path for each combination of results.
pub(super) struct Suffixes {
    tested: Tested,
    /// The list of the interval.
    whole: Vec<usize>,
    /// Those to be proved, and those that are.
    known: HashSet<Suffix>,
    pending: Vec<Suffix>,
    /// Where the one that is being proved starts.
    pub(super) start: usize,
    /// See `Paths::loaded`.
    loaded: Vec<u16>,
}

impl Paths<'_> {
    /// Whether every path of the syscalls with these facts and numbers returns what these clauses demand, where each end of the
    /// program is proved once for each list of remaining clauses.
    pub(in crate::cases) fn are_suffixes_proved(
        &mut self,
        facts: &[Literal],
        numbers: (u32, u32),
        list: &[usize],
        tested: Tested,
    ) -> bool {
        let before = self.used();
        // Half of what is left, so that another way can be tried.
        let left = MAX_OF_SUFFIXES.saturating_sub(self.of_suffixes);
        self.limit = before.saturating_add(left / 2);
        let (loaded, pending) = (self.loaded(), vec![(0, Vec::new(), 0)]);
        let (known, whole) = (HashSet::default(), list.to_vec());
        self.suffixes = Some(Suffixes { tested, whole, known, pending, start: 0, loaded });
        let next = |one: &mut Suffixes| {
            let (at, mut list, tail) = one.pending.pop()?;
            one.start = at;
            list.extend_from_slice(one.whole.get(tail..)?);
            Some((at, list))
        };
        let mut are_proved = true;
        while let Some((at, list)) = self.suffixes.as_mut().and_then(next) {
            are_proved = !self.begins(facts, Some(numbers), &list)
                || self.are_proved_from(Path { at, ..Path::START });
            if !are_proved {
                break;
            }
        }
        self.suffixes = None;
        self.of_suffixes += self.used() - before;
        self.limit = MAX_STEPS.saturating_add(self.of_suffixes);
        are_proved
    }

    /// Adds the end of the program where a path is to those that are proved on their own, with what remains of the clauses.
    /// Returns whether there were steps left.
    pub(super) fn postpone(&mut self, path: Path) -> bool {
        let Some(mut suffixes) = self.suffixes.take() else { return false };
        let clauses: &ClauseTable = &self.clauses;
        let live = self.live.get(path.live..).unwrap_or_default();
        // Where clauses exclude the first rule, the program tests those of no other one.
        let excluding = live.iter().take_while(|index| clauses.verdict(**index).is_none()).count();
        let (live, rest) = match (suffixes.tested, live.split_at_checked(excluding + 1)) {
            (Tested::Again, Some(split)) if excluding > 0 => split,
            _ => (live, &[][..]),
        };
        let remaining = live.iter().map(|index| Remaining { index: *index, open: None });
        let mut remaining: Vec<Remaining> = remaining.collect();
        self.steps = self.steps.saturating_add((remaining.len() + rest.len()) as u32);
        // The results in their order, each for the clauses that the program tests then.
        for fact in &self.facts {
            let count = match (suffixes.tested, remaining.split_first()) {
                (Tested::Again, Some((first, others))) if excluding == 0 => {
                    let first = first.open(clauses).iter();
                    let second = others.first().map_or(&[][..], |second| second.open(clauses));
                    let is_alone = !are_alternatives(first.clone(), second.iter());
                    let is_informed = |other: &&Remaining| {
                        is_informed(fact.test, first.clone(), is_alone, other.open(clauses).iter())
                    };
                    1 + others.iter().take_while(is_informed).count()
                }
                _ => remaining.len(),
            };
            self.steps = self.steps.saturating_add(2 * count as u32);
            if self.used() >= self.limit {
                return false;
            }
            let mut at = 0;
            remaining.retain_mut(|clause| {
                at += 1;
                at > count || clause.is_possible(clauses, |one| fact.decides(*one))
            });
        }
        // Nothing else will be known about words that are not loaded again. About others, the program uses no more than that.
        let loaded = suffixes.loaded.get(path.at).copied().unwrap_or(u16::MAX);
        let known = |one: &Literal| match loaded >> one.test.word.index() & 1 {
            0 => self.knowledge.decide_literal(*one),
            _ => None,
        };
        remaining.retain_mut(|clause| clause.is_possible(clauses, known));
        // Where the clauses that exclude a rule start, and whether one of them holds.
        let (mut start, mut is_excluded) = (0, false);
        let mut list = Vec::with_capacity(remaining.len());
        for Remaining { index, open } in remaining {
            let Some(clause) = self.clauses.get(index) else { continue };
            let (verdict, literals) = (clause.verdict, clause.literals.len());
            let is_always = open.as_ref().map_or(literals, Vec::len) == 0;
            if is_excluded || verdict.is_none() && is_always {
                list.truncate(start);
                is_excluded = verdict.is_none();
                continue;
            }
            list.push(match open {
                Some(open) => self.clauses.to_mut().index(open, verdict),
                None => index,
            });
            if verdict.is_some() {
                if is_always && list.len() == start + 1 {
                    break;
                }
                start = list.len();
            }
        }
        list.extend_from_slice(rest);
        let whole = suffixes.whole.iter().rev();
        let same = whole.zip(list.iter().rev()).take_while(|(one, other)| one == other).count();
        list.truncate(list.len() - same);
        let suffix = (path.at, list, suffixes.whole.len() - same);
        if !suffixes.known.contains(&suffix) {
            suffixes.known.insert(suffix.clone());
            suffixes.pending.push(suffix);
        }
        self.suffixes = Some(suffixes);
        true
    }

    /// Per instruction, the words that it and those after it on some path load, as bits.
    fn loaded(&self) -> Vec<u16> {
        let mut words = vec![0; self.insns.len()];
        for (at, insn) in self.insns.iter().enumerate().rev() {
            let after =
                insn.successors(at).into_iter().map(|next| words.get(next).copied().unwrap_or(0));
            let next = after.fold(0, |words, more| words | more);
            let word = match insn.op {
                Op::LdWordAbs => Word::from_offset(insn.k, self.endian),
                _ => None,
            };
            words[at] = next | word.map_or(0, |word| 1 << word.index());
        }
        words
    }
}
