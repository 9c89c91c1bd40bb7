//! The paths of a program, and what its returns must be.

use std::borrow::Cow;
use std::sync::Arc;

use rustc_hash::FxHashSet as HashSet;

use crate::{Emulator, Endian, Insn, Op, Program, Source, Verdict, Word};

use super::clause_table::ClauseTable;
use super::knowledge::{Knowledge, Mark};
use super::word_comparison::{Literal, Simplified, WordTest, are_alternatives, is_informed};
use super::{Cases, NumberInterval};
use crate::proved::Proved;
use crate::spec::{FilterSpec, Spec};

/// The maximum number of steps of a proof, without those of [`Suffixes`]: executed instructions, intervals at returns, evaluated clauses and literals, and
/// comparisons with what is excluded.
const MAX_STEPS: u32 = 400_000;

/// The maximum number of those steps in which all numbers of an arch are followed together.
const MAX_TOGETHER: u32 = MAX_STEPS / 4;

/// The maximum number of further steps where ends of the program are proved on their own.
const MAX_OF_SUFFIXES: u32 = 16_000_000;

/// How many of those steps each literal of an interval may take before its paths are followed in another way, and the literals that
/// each interval has besides its own.
const STEPS_OF_LITERAL: u32 = 64;
const FEW_LITERALS: u32 = 64;

/// How many clauses are not worth reducing to those that may still hold.
const FEW_CLAUSES: usize = 3;

/// How many comparisons with what is excluded take as long as a step.
const COMPARED_IN_STEP: u32 = 16;

impl Cases {
    /// The program, if it is proved to compute the function of the policy, and the kernel recognizes those of the `known`
    /// syscalls (arch tokens and numbers) as constant allow that are always allowed.
    pub fn prove_with_cache(&self, program: &Program, known: &[(u32, u32)]) -> Option<Proved> {
        let mut emulator = Emulator::new(program.insns());
        let is_recognized = |(token, nr): &(u32, u32)| {
            self.verdict_of(*token, *nr) != Some(Verdict::ALLOW)
                || emulator.is_constant_allow(*token, *nr)
        };
        let is_proved = self.proves(program) && known.iter().all(is_recognized);
        let spec = || Spec::Filter(FilterSpec::Policy(self.policy.clone()));
        is_proved.then(|| Proved::new(program.clone(), Arc::new(spec())))
    }

    /// Whether the program is proved to compute the function of the policy. `false` says nothing about the program: it may
    /// contain instructions that this proof does not know, or need too many cases.
    pub fn proves(&self, program: &Program) -> bool {
        let mut paths = Paths::new(self, program);
        let is_arch = |token, holds| {
            let test = WordTest::equal(Word::ARCH, u32::MAX, token);
            Literal { test, holds }
        };
        let others: Vec<Literal> =
            self.sections.iter().map(|section| is_arch(section.token, false)).collect();
        let mut sections = self.sections.iter();
        (!paths.begins(&others, None, &[]) || paths.are_proved())
            && sections.all(|section| {
                let arch = [is_arch(section.token, true)];
                let is_decided = paths.decided(&arch, &section.intervals);
                section.intervals.iter().zip(is_decided).all(|(interval, is_decided)| {
                    let Some(list) = self.lists.get(interval.list) else { return false };
                    let numbers = (interval.first, interval.last);
                    let excludes = |clause: &usize| self.clauses.verdict(*clause).is_none();
                    is_decided
                        || !paths.begins(&arch, Some(numbers), list)
                        || !list.iter().any(excludes) && paths.are_proved_soon(list)
                        || [Tested::Again, Tested::Once]
                            .into_iter()
                            .any(|tested| paths.are_suffixes_proved(&arch, numbers, list, tested))
                        || paths.begins(&arch, Some(numbers), list) && paths.are_proved()
                })
            })
    }
}

/// What is known about a register.
#[derive(Clone, Copy)]
enum Value {
    Unknown,
    /// Some bits of a word.
    Bits {
        word: Word,
        mask: u32,
    },
    /// A word minus a constant.
    Difference {
        word: Word,
        base: u32,
    },
    Constant(u32),
    /// A constant, shifted right by the difference of a word and another constant: a *bitset test* compares it.
    Shifted {
        bits: u32,
        word: Word,
        base: u32,
    },
}

/// A path up to an instruction.
#[derive(Clone, Copy)]
struct Path {
    /// The index of the next instruction.
    at: usize,
    a: Value,
    x: Value,
    /// Where the clauses that may hold start in [`Paths::live`].
    live: usize,
}

impl Path {
    const START: Path = Path { at: 0, a: Value::Unknown, x: Value::Unknown, live: 0 };
}

/// What an instruction does to a path.
enum Step {
    /// The path continues.
    Next,
    /// The path ends with the right verdict.
    Returned,
    /// The path continues at these instructions, depending on a test: the first one if it holds.
    Split(WordTest, [usize; 2]),
    /// The path cannot be followed, or ends with another verdict.
    Failed,
    /// What remains is proved on its own, see [`Suffixes`].
    Postponed,
}

/// The clauses from which the result of a test removes literals. Either choice is safe; the one that a program follows proves it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Tested {
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
struct Suffixes {
    tested: Tested,
    /// The list of the interval.
    whole: Vec<usize>,
    /// Those to be proved, and those that are.
    known: HashSet<Suffix>,
    pending: Vec<Suffix>,
    /// Where the one that is being proved starts.
    start: usize,
    /// See [`Paths::loaded`].
    loaded: Vec<u16>,
}

/// A path that is followed later.
struct Pending {
    path: Path,
    /// What distinguishes it.
    fact: Literal,
    /// What was known before.
    mark: Mark,
    /// Where its clauses end.
    live_end: usize,
    /// How many results it had.
    facts: usize,
}

/// The depth-first traversal of the paths of a program, for all numbers of an arch or for an interval of them.
pub(super) struct Paths<'c> {
    cases: &'c Cases,
    /// Those of the cases, and what remains of them.
    clauses: Cow<'c, ClauseTable>,
    insns: &'c [Insn],
    endian: Endian,
    knowledge: Knowledge,
    /// The clauses of the current path that may hold, after those of pending paths; indexes.
    live: Vec<usize>,
    pending: Vec<Pending>,
    /// The results of tests on the path.
    facts: Vec<Literal>,
    /// Whether ends of the program are proved on their own, and which.
    suffixes: Option<Suffixes>,
    steps: u32,
    /// Those of proofs of ends of the program.
    of_suffixes: u32,
    /// The maximum number of steps.
    limit: u32,
}

/// What the clauses say about a verdict.
enum Answer {
    Agree,
    /// That depends on this test.
    Depends(WordTest),
    Differ,
}

impl<'c> Paths<'c> {
    /// For a program; nothing is followed yet.
    pub(super) fn new(cases: &'c Cases, program: &'c Program) -> Paths<'c> {
        Paths {
            cases,
            clauses: Cow::Borrowed(&cases.clauses),
            insns: program.insns(),
            endian: cases.endian,
            knowledge: Knowledge::nothing(),
            live: Vec::new(),
            pending: Vec::new(),
            facts: Vec::new(),
            suffixes: None,
            steps: 0,
            of_suffixes: 0,
            limit: MAX_STEPS,
        }
    }
}

impl Paths<'_> {
    /// Prepares for the paths of the syscalls with these facts and numbers, to which these clauses apply. Returns whether there
    /// are such syscalls.
    fn begins(&mut self, facts: &[Literal], numbers: Option<(u32, u32)>, list: &[usize]) -> bool {
        self.knowledge.return_to(Mark::START);
        self.live.clear();
        self.live.extend_from_slice(list);
        self.pending.clear();
        self.facts.clear();
        let (first, last) = numbers.unwrap_or((0, u32::MAX));
        self.knowledge.learn_interval(Word::NR, first, last)
            && facts.iter().all(|fact| self.knowledge.learn(*fact))
    }

    /// Whether every path returns what the clauses demand.
    fn are_proved(&mut self) -> bool {
        self.are_proved_from(Path::START)
    }

    /// As [`Paths::are_proved`], within some steps for each literal of these clauses. Where clause after clause is tested, there may
    /// be a path for each combination of results.
    fn are_proved_soon(&mut self, list: &[usize]) -> bool {
        let of_clause =
            |index: &usize| self.clauses.get(*index).map_or(0, |clause| clause.literals.len());
        let literals: usize = list.iter().map(of_clause).sum();
        let limit = self.limit;
        let steps = STEPS_OF_LITERAL.saturating_mul(literals as u32 + FEW_LITERALS);
        self.limit = limit.min(self.used().saturating_add(steps));
        let are_proved = self.are_proved();
        self.limit = limit;
        are_proved
    }

    /// As [`Paths::are_proved`], from the start of this path on.
    fn are_proved_from(&mut self, mut path: Path) -> bool {
        loop {
            let Some(insn) = self.next_insn(path.at) else { return false };
            let next = match self.step(insn, &mut path) {
                Step::Next => continue,
                Step::Failed => return false,
                Step::Returned => self.resumed(),
                Step::Postponed if self.postpone(path) => self.resumed(),
                Step::Postponed => return false,
                Step::Split(test, targets) => self.split(path, test, targets),
            };
            match next {
                Some(next) => path = next,
                None => return true,
            }
        }
    }

    /// Whether every path of the syscalls with these facts and numbers returns what these clauses demand, where each end of the
    /// program is proved once for each list of remaining clauses.
    pub(super) fn are_suffixes_proved(
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
    fn postpone(&mut self, path: Path) -> bool {
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

    /// Per interval, whether it is known that every path of a syscall with these facts and one of its numbers returns its
    /// verdict, which does not depend on arguments. All numbers are followed together, up to the first other word.
    fn decided(&mut self, facts: &[Literal], intervals: &[NumberInterval]) -> Vec<bool> {
        let verdicts = intervals.iter().map(|interval| self.cases.verdict(interval.list));
        let verdicts: Vec<Option<Verdict>> = verdicts.collect();
        let mut decided: Vec<bool> = verdicts.iter().map(Option::is_some).collect();
        let limit = MAX_STEPS.saturating_add(self.of_suffixes);
        self.limit = self.used().saturating_add(MAX_TOGETHER).min(limit);
        let mut next = self.begins(facts, None, &[]).then_some(Path::START);
        while let Some(mut path) = next {
            let Some(insn) = self.next_insn(path.at) else {
                decided.fill(false);
                break;
            };
            let returned = match insn.op {
                Op::RetK => Some(Verdict(insn.k)),
                Op::LdWordAbs if Word::from_offset(insn.k, self.endian) > Some(Word::NR) => None,
                _ => match self.step(insn, &mut path) {
                    Step::Next => {
                        next = Some(path);
                        continue;
                    }
                    Step::Split(test, targets) => {
                        next = self.split(path, test, targets);
                        continue;
                    }
                    Step::Returned | Step::Failed | Step::Postponed => None,
                },
            };
            // The numbers that may take this path are between these.
            let (min, max) = self.knowledge.interval(Word::NR);
            let from = intervals.partition_point(|interval| interval.last < min);
            let here = intervals.iter().zip(&verdicts).zip(&mut decided).skip(from);
            for ((one, verdict), is_decided) in here.take_while(|((one, _), _)| one.first <= max) {
                self.steps = self.steps.saturating_add(1);
                if *is_decided && *verdict != returned {
                    let mark = self.knowledge.mark();
                    *is_decided = !self.knowledge.learn_interval(Word::NR, one.first, one.last);
                    self.knowledge.return_to(mark);
                }
            }
            next = self.resumed();
        }
        self.limit = limit;
        decided
    }

    /// The number of steps until now.
    fn used(&self) -> u32 {
        self.steps.saturating_add(self.knowledge.compared() / COMPARED_IN_STEP)
    }

    /// The next instruction; `None` behind the last one, and after too many steps.
    fn next_insn(&mut self, at: usize) -> Option<Insn> {
        self.steps = self.steps.saturating_add(1);
        self.insns.get(at).copied().filter(|_| self.used() < self.limit)
    }

    /// Continues a path at the first instruction if a test holds, and later at the other one if not. Returns the next path.
    fn split(&mut self, path: Path, test: WordTest, [holds, fails]: [usize; 2]) -> Option<Path> {
        self.assume(Path { at: fails, ..path }, Literal { test, holds: false });
        let fact = Literal { test, holds: true };
        if !self.knowledge.learn(fact) {
            return self.resumed();
        }
        self.facts.push(fact);
        Some(Path { at: holds, live: self.still_live(fact, path.live), ..path })
    }

    /// Executes an instruction, the next one of a path.
    fn step(&mut self, insn: Insn, path: &mut Path) -> Step {
        let (here, k) = (path.at, insn.k);
        path.at += 1;
        match insn.op {
            Op::LdWordAbs => {
                let word = Word::from_offset(k, self.endian);
                let is_argument = word.is_some_and(|word| word.argument().is_some());
                if is_argument && self.suffixes.as_ref().is_some_and(|one| one.start != here) {
                    path.at = here;
                    return Step::Postponed;
                }
                path.a = word.map_or(Value::Unknown, |word| Value::Bits { word, mask: u32::MAX });
            }
            Op::AndK => {
                path.a = match path.a {
                    Value::Bits { word, mask } => Value::Bits { word, mask: mask & k },
                    _ => Value::Unknown,
                };
            }
            Op::Ja => path.at = path.at.saturating_add(k as usize),
            Op::SubK => {
                path.a = match path.a {
                    Value::Bits { word, mask: u32::MAX } => Value::Difference { word, base: k },
                    _ => Value::Unknown,
                };
            }
            Op::Tax => path.x = path.a,
            Op::LdImm => path.a = Value::Constant(k),
            Op::RshX => {
                path.a = match (path.a, path.x) {
                    (Value::Constant(bits), Value::Bits { word, mask: u32::MAX }) => {
                        Value::Shifted { bits, word, base: 0 }
                    }
                    (Value::Constant(bits), Value::Difference { word, base }) => {
                        Value::Shifted { bits, word, base }
                    }
                    _ => Value::Unknown,
                };
            }
            Op::RetK => {
                return match self.answer(path.live, Verdict(k)) {
                    Answer::Agree => Step::Returned,
                    Answer::Depends(test) => Step::Split(test, [here, here]),
                    // No syscall may take this path: then it does not matter what is returned.
                    Answer::Differ => match self.knowledge.open_bit() {
                        Some(test) => Step::Split(test, [here, here]),
                        None => Step::Failed,
                    },
                };
            }
            _ => return self.branch(insn, here, path),
        }
        Step::Next
    }

    /// Executes a branch.
    fn branch(&mut self, insn: Insn, here: usize, path: &mut Path) -> Step {
        let targets = [insn.jt, insn.jf].map(|skipped| path.at + usize::from(skipped));
        let Some((relation, Source::K(k))) = insn.comparison() else { return Step::Failed };
        let result = match path.a {
            Value::Bits { word, mask } => match WordTest::of_branch(word, mask, relation, k) {
                Simplified::Constant(taken) => taken,
                Simplified::Literal(literal) => match self.knowledge.decide_literal(literal) {
                    Some(taken) => {
                        let holds = taken == literal.holds;
                        self.facts.push(Literal { holds, ..literal });
                        taken
                    }
                    None => {
                        let [then, otherwise] = targets;
                        let targets = if literal.holds { targets } else { [otherwise, then] };
                        return Step::Split(literal.test, targets);
                    }
                },
            },
            Value::Shifted { bits, word, base } => {
                let (min, max) = self.knowledge.interval(word);
                let is_within = min >= base && max.wrapping_sub(base) < u32::BITS;
                let taken = |value: u32| relation.holds(bits >> (value.wrapping_sub(base) % 32), k);
                let first = taken(min);
                match (min..=max).take(32).find(|value| taken(*value) != first) {
                    _ if !is_within => return Step::Failed,
                    None => first,
                    // Where the result changes, the interval is split; then this branch follows again.
                    Some(at) => {
                        let test = WordTest::at_least(word, u32::MAX, at);
                        return Step::Split(test, [here, here]);
                    }
                }
            }
            Value::Unknown | Value::Constant(_) | Value::Difference { .. } => return Step::Failed,
        };
        let [then, otherwise] = targets;
        path.at = if result { then } else { otherwise };
        Step::Next
    }

    /// Adds a path that is followed later, on which a test has this result.
    fn assume(&mut self, path: Path, fact: Literal) {
        let (mark, live_end) = (self.knowledge.mark(), self.live.len());
        self.pending.push(Pending { path, fact, mark, live_end, facts: self.facts.len() });
    }

    /// The next path that a syscall may take.
    fn resumed(&mut self) -> Option<Path> {
        while let Some(Pending { mut path, fact, mark, live_end, facts }) = self.pending.pop() {
            self.knowledge.return_to(mark);
            self.live.truncate(live_end);
            self.facts.truncate(facts);
            self.facts.push(fact);
            if self.knowledge.learn(fact) {
                path.live = self.still_live(fact, path.live);
                return Some(path);
            }
        }
        None
    }

    /// Where the clauses start that may still hold after a fact was learnt.
    fn still_live(&mut self, fact: Literal, live: usize) -> usize {
        let WordTest { word, mask, is_order, value } = fact.test;
        let end = self.live.len();
        // See `postpone`: what does not hold any more is decided there.
        if self.suffixes.is_some() {
            return live;
        }
        // The clauses are those of this arch and number. Few clauses are evaluated in less time at returns.
        if word == Word::ARCH || word == Word::NR || end - live <= FEW_CLAUSES {
            return live;
        }
        let (min, max) = self.knowledge.interval(word);
        let may_hold = |literal: &Literal| {
            let test = literal.test;
            match fact.holds {
                _ if test.word != word => true,
                // Most literals are of this form.
                _ if test.mask == u32::MAX && !test.is_order && literal.holds => {
                    let is_excluded = !fact.holds && fact.test == test;
                    (min..=max).contains(&test.value) && !is_excluded
                }
                true if !is_order && mask == u32::MAX => literal.is_true_for(value),
                // Hardly anything follows from the inequality of two values.
                false if !is_order => test != fact.test || !literal.holds,
                _ => self.knowledge.decide_literal(*literal) != Some(false),
            }
        };
        for at in live..end {
            let Some(index) = self.live.get(at).copied() else { continue };
            let literals = self.clauses.get(index).map_or(&[][..], |clause| clause.literals);
            if literals.iter().all(may_hold) {
                self.live.push(index);
            }
        }
        self.steps = self.steps.saturating_add((end - live) as u32);
        end
    }

    /// Whether the verdict is that of every clause that may be the first to hold.
    fn answer(&mut self, live: usize, verdict: Verdict) -> Answer {
        // Whether a clause holds that excludes the next verdict, and whether one may hold.
        let (mut is_excluded, mut may_be_excluded) = (false, false);
        let mut open = None;
        let of_path = self.live.get(live..).unwrap_or_default();
        for clause in of_path.iter().filter_map(|index| self.clauses.get(*index)) {
            let excludes = clause.verdict.is_none();
            self.steps = self.steps.saturating_add(1 + clause.literals.len() as u32);
            if is_excluded {
                is_excluded = excludes;
                continue;
            }
            let mut unknown = None;
            let mut is_possible = true;
            for literal in clause.literals {
                match self.knowledge.decide_literal(*literal) {
                    Some(true) => {}
                    Some(false) => {
                        is_possible = false;
                        break;
                    }
                    None => unknown = unknown.or(Some(literal.test)),
                }
            }
            let agrees = clause.verdict == Some(verdict);
            match unknown {
                _ if !is_possible => {}
                None if excludes => (is_excluded, may_be_excluded) = (true, false),
                Some(_) if excludes => (open, may_be_excluded) = (open.or(unknown), true),
                None if agrees && may_be_excluded => may_be_excluded = false,
                None if agrees => return Answer::Agree,
                None => return open.map_or(Answer::Differ, Answer::Depends),
                Some(_) if agrees => open = open.or(unknown),
                Some(test) => return Answer::Depends(test),
            }
        }
        match open {
            _ if self.cases.bad_arch == verdict => Answer::Agree,
            None => Answer::Differ,
            Some(test) => Answer::Depends(test),
        }
    }
}
