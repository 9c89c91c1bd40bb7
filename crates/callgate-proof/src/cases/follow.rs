//! The paths of a program, and what its returns must be.

use callgate_bpf::data::{Endian, Word};
use callgate_bpf::verdict::Verdict;
use callgate_bpf::{Insn, Op, Program, Relation, Source};

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
            paths.knowledge.return_to(start);
            facts.iter().for_each(|fact| paths.knowledge.learn(*fact));
            if let Some((first, last)) = interval {
                paths.knowledge.learn_interval(Word::NR, first, last);
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

/// A path that is followed later.
struct Pending {
    at: usize,
    a: Option<(Word, u32)>,
    /// What distinguishes it.
    fact: Literal,
    mark: Mark,
    /// Where its clauses start in [`Paths::live`], and end.
    live: (usize, usize),
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
        // The word and the bits of it that A holds; `None` if A holds anything else.
        let mut a: Option<(Word, u32)> = None;
        let mut at = 0usize;
        let mut live = 0;
        loop {
            self.steps += 1;
            let Some(insn) = self.insns.get(at).filter(|_| self.steps <= MAX_STEPS) else {
                return false;
            };
            let k = insn.k;
            let next = at + 1;
            match insn.op {
                Op::LdWordAbs => {
                    a = Word::from_offset(k, self.endian).map(|word| (word, u32::MAX));
                    at = next;
                }
                Op::AndK => {
                    a = a.map(|(word, mask)| (word, mask & k));
                    at = next;
                }
                Op::Ja => at = next.saturating_add(k as usize),
                Op::RetK => {
                    let depends = match self.answer(live, Verdict(k)) {
                        Answer::Differ => return false,
                        Answer::Agree => None,
                        Answer::Depends(test) => Some(test),
                    };
                    if let Some(test) = depends {
                        self.assume((at, a), test, false, live);
                        live = self.learnt(Literal { test, holds: true }, live);
                        continue;
                    }
                    let Some(pending) = self.pending.pop() else { return true };
                    (at, a) = (pending.at, pending.a);
                    self.knowledge.return_to(pending.mark);
                    self.live.truncate(pending.live.1);
                    live = self.learnt(pending.fact, pending.live.0);
                }
                _ => {
                    let (Some((word, mask)), Some((relation, Source::K(k)))) =
                        (a, insn.comparison())
                    else {
                        return false;
                    };
                    let [then, otherwise] =
                        [insn.jt, insn.jf].map(|skipped| next + usize::from(skipped));
                    at = match self.branch(word, mask, relation, k) {
                        Ok(true) => then,
                        Ok(false) => otherwise,
                        Err(literal) => {
                            let (taken, other) =
                                if literal.holds { (then, otherwise) } else { (otherwise, then) };
                            self.assume((other, a), literal.test, false, live);
                            live = self.learnt(Literal { holds: true, ..literal }, live);
                            taken
                        }
                    };
                }
            }
        }
    }

    /// The result of a branch, or the literal that it depends on.
    fn branch(
        &self,
        word: Word,
        mask: u32,
        relation: Relation,
        k: u32,
    ) -> Result<bool, Literal> {
        match WordTest::of_branch(word, mask, relation, k) {
            Simplified::Constant(holds) => Ok(holds),
            Simplified::Literal(literal) => {
                self.knowledge.decide_literal(literal).ok_or(literal)
            }
        }
    }

    /// Adds a path that is followed later, where a test has this result.
    fn assume(
        &mut self,
        (at, a): (usize, Option<(Word, u32)>),
        test: WordTest,
        holds: bool,
        live: usize,
    ) {
        let fact = Literal { test, holds };
        let mark = self.knowledge.mark();
        self.pending.push(Pending { at, a, fact, mark, live: (live, self.live.len()) });
    }

    /// Learns a fact. Returns where the clauses start that may still hold.
    fn learnt(&mut self, fact: Literal, live: usize) -> usize {
        self.knowledge.learn(fact);
        let word = fact.test.word;
        if word.argument().is_none() && word != Word::IP_HIGH && word != Word::IP_LOW {
            // The clauses are those of this arch and number.
            return live;
        }
        let end = self.live.len();
        for at in live..end {
            self.steps += 1;
            let Some(index) = self.live.get(at).copied() else { continue };
            let literals = self.literals(index);
            let of_word = literals.iter().filter(|literal| literal.test.word == word);
            let is_possible = of_word
                .map(|literal| self.knowledge.decide_literal(*literal))
                .all(|holds| holds != Some(false));
            if is_possible {
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
