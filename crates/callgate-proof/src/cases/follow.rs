//! The paths of a program, and what its returns must be.

use callgate_bpf::data::{Endian, Word};
use callgate_bpf::verdict::Verdict;
use callgate_bpf::{Insn, Op, Program, Source};

use super::Cases;
use super::knowledge::{Knowledge, Mark};
use super::word_test::{Literal, Simplified, WordTest};

/// The maximum number of steps of a proof: executed instructions, and clauses that are evaluated. Where the proof needs more,
/// that by MTBDD is quicker.
const MAX_STEPS: u32 = 400_000;

impl Cases {
    /// Whether the program is proved to compute the function of the policy. `false` says nothing about the program: it may
    /// contain instructions that this proof does not know, or need too many cases.
    pub fn prove(&self, program: &Program) -> bool {
        let mut paths = Paths {
            cases: self,
            insns: program.insns(),
            endian: self.endian,
            knowledge: Knowledge::nothing(),
            live: Vec::new(),
            pending: Vec::new(),
            steps: 0,
        };
        let start = paths.knowledge.mark();
        let mut are_proved = |facts: &[Literal], interval: Option<(u32, u32)>, list: &[usize]| {
            let knowledge = &mut paths.knowledge;
            knowledge.return_to(start);
            let (first, last) = interval.unwrap_or((0, u32::MAX));
            if !knowledge.learn_interval(Word::NR, first, last)
                || !facts.iter().all(|fact| knowledge.learn(*fact))
            {
                // No such syscall exists.
                return true;
            }
            paths.live.clear();
            paths.live.extend_from_slice(list);
            paths.pending.clear();
            paths.are_proved()
        };
        let is_arch = |token, holds| {
            let test = WordTest::equal(Word::ARCH, u32::MAX, token);
            Literal { test, holds }
        };
        let others: Vec<Literal> =
            self.sections.iter().map(|section| is_arch(section.token, false)).collect();
        let mut sections = self.sections.iter();
        are_proved(&others, None, &[])
            && sections.all(|section| {
                let arch = [is_arch(section.token, true)];
                section.intervals.iter().all(|interval| {
                    let Some(list) = self.lists.get(interval.list) else { return false };
                    are_proved(&arch, Some((interval.first, interval.last)), list)
                })
            })
    }
}

/// A path up to an instruction.
#[derive(Clone, Copy)]
struct Path {
    /// The index of the next instruction.
    at: usize,
    /// The word and the bits of it that A holds; `None` if A holds anything else.
    a: Option<(Word, u32)>,
    /// Where the clauses that may hold start in [`Paths::live`].
    live: usize,
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
}

/// The depth-first traversal of the paths of a program for one interval of numbers.
struct Paths<'c> {
    cases: &'c Cases,
    insns: &'c [Insn],
    endian: Endian,
    knowledge: Knowledge,
    /// The clauses of the current path that may hold, after those of pending paths; indexes.
    live: Vec<usize>,
    pending: Vec<Pending>,
    steps: u32,
}

/// What the clauses say about a verdict.
enum Answer {
    Agree,
    /// That depends on this test.
    Depends(WordTest),
    Differ,
}

impl Paths<'_> {
    /// Whether every path returns what the clauses demand.
    fn are_proved(&mut self) -> bool {
        let mut path = Path { at: 0, a: None, live: 0 };
        loop {
            self.steps += 1;
            let Some(insn) = self.insns.get(path.at).filter(|_| self.steps <= MAX_STEPS) else {
                return false;
            };
            let k = insn.k;
            let next = path.at + 1;
            let split = match insn.op {
                Op::LdWordAbs => {
                    path.a = Word::from_offset(k, self.endian).map(|word| (word, u32::MAX));
                    path.at = next;
                    continue;
                }
                Op::AndK => {
                    path.a = path.a.map(|(word, mask)| (word, mask & k));
                    path.at = next;
                    continue;
                }
                Op::Ja => {
                    path.at = next.saturating_add(k as usize);
                    continue;
                }
                Op::RetK => match self.answer(path.live, Verdict(k)) {
                    Answer::Differ => return false,
                    Answer::Agree => None,
                    Answer::Depends(test) => Some((test, [path.at, path.at])),
                },
                _ => {
                    let targets = [insn.jt, insn.jf].map(|skipped| next + usize::from(skipped));
                    let comparison = path.a.zip(insn.comparison());
                    let Some(((word, mask), (relation, Source::K(k)))) = comparison else {
                        return false;
                    };
                    let (test, [holds, fails]) =
                        match WordTest::of_branch(word, mask, relation, k) {
                            Simplified::Constant(taken) => {
                                path.at = targets[usize::from(!taken)];
                                continue;
                            }
                            Simplified::Literal(Literal { test, holds: true }) => (test, targets),
                            Simplified::Literal(Literal { test, holds: false }) => {
                                let [then, otherwise] = targets;
                                (test, [otherwise, then])
                            }
                        };
                    if let Some(result) = self.knowledge.decide(test) {
                        path.at = if result { holds } else { fails };
                        continue;
                    }
                    Some((test, [holds, fails]))
                }
            };
            if let Some((test, [holds, fails])) = split {
                self.assume(Path { at: fails, ..path }, Literal { test, holds: false });
                self.assume(Path { at: holds, ..path }, Literal { test, holds: true });
            }
            match self.resumed() {
                Some(next) => path = next,
                None => return true,
            }
        }
    }

    /// Adds a path that is followed later, on which a test has this result.
    fn assume(&mut self, path: Path, fact: Literal) {
        let (mark, live_end) = (self.knowledge.mark(), self.live.len());
        self.pending.push(Pending { path, fact, mark, live_end });
    }

    /// The next path that a syscall may take.
    fn resumed(&mut self) -> Option<Path> {
        while let Some(Pending { mut path, fact, mark, live_end }) = self.pending.pop() {
            self.knowledge.return_to(mark);
            self.live.truncate(live_end);
            if self.knowledge.learn(fact) {
                path.live = self.still_live(fact.test.word, path.live);
                return Some(path);
            }
        }
        None
    }

    /// Where the clauses start that may still hold after something was learnt about a word.
    fn still_live(&mut self, word: Word, live: usize) -> usize {
        if word == Word::ARCH || word == Word::NR {
            // The clauses are those of this arch and number.
            return live;
        }
        let end = self.live.len();
        for at in live..end {
            self.steps += 1;
            let Some(index) = self.live.get(at).copied() else { continue };
            let literals = self.literals(index);
            let mut of_word = literals.iter().filter(|literal| literal.test.word == word);
            if of_word.all(|literal| self.knowledge.decide_literal(*literal) != Some(false)) {
                self.live.push(index);
            }
        }
        end
    }

    fn literals(&self, index: usize) -> &[Literal] {
        self.cases.clauses.get(index).map_or(&[], |clause| &clause.literals)
    }

    /// Whether the verdict is that of every clause that may be the first to hold.
    fn answer(&mut self, live: usize, verdict: Verdict) -> Answer {
        let mut open = None;
        let of_path = self.live.get(live..).unwrap_or_default();
        for clause in of_path.iter().filter_map(|index| self.cases.clauses.get(*index)) {
            self.steps += 1;
            let mut unknown = None;
            let mut is_possible = true;
            for literal in &clause.literals {
                match self.knowledge.decide_literal(*literal) {
                    Some(true) => {}
                    Some(false) => is_possible = false,
                    None => unknown = unknown.or(Some(literal.test)),
                }
            }
            let agrees = clause.verdict == verdict;
            match unknown {
                _ if !is_possible => {}
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
