//! Code from clauses: the plan of [`Aim::Quick`] for policies with usual conditions, without MTBDD.
//!
//! ```text
//! clauses ──lists──> code graph ──layout──> instructions
//!              │  the dispatch of arch and number is that of the other plans
//!              └─ partition: the values of a word, each with the clauses that remain
//! ```
//!
//! The arguments of a syscall are decided one word after the other, as the first clause demands. The clauses that remain for a
//! value, without the literals that hold, are a list again, and equal lists have the same code.

mod lists;
mod partition;

use callgate_bpf::Layout;
use callgate_bpf::data::Word;
use callgate_bpf::syscalls::Arch;
use callgate_bpf::verdict::Verdict;
use callgate_proof::diagram::DiagramError;
use callgate_proof::{Cases, SectionCases};

use crate::code::{Code, CodeId, Graph};
use crate::cost::{Aim, Model};
use crate::dispatch::{Exits, Settings, dispatch};
use crate::layout::{Frequencies, Program, lay_out};
use crate::query::Interval;
use crate::shares::shares_of_alike;
use crate::weights::{WeightedSyscall, Weights};
use crate::{Instructions, native};
use lists::Lists;

/// A program for cases, with [`Aim::Quick`]; `None` if they need too much code. The program may be longer than the kernel
/// accepts.
pub fn generate_by_cases(
    cases: &Cases,
    weights: &Weights,
    arches: &[Arch],
    model: Model,
    instructions: Instructions,
) -> Option<Program> {
    let mut numbers = Vec::new();
    let around = |token, nr| around(cases, token, nr);
    let alike = weights.resolve_alike(arches, around, |nr| numbers.push(nr));
    let syscalls: Vec<WeightedSyscall> = alike.iter().map(|alike| alike.first).collect();
    let shares = shares_of_alike(&syscalls, |at| alike[at].count, model);
    let mut by_cases = ByCases { lists: Lists::new(cases, instructions), instructions };
    let (mut codes, mut weights) = (Vec::with_capacity(cases.sections().len()), Vec::new());
    let (mut at, mut number) = (0, 0);
    for of_token in alike.chunk_by(|a, b| a.first.token == b.first.token) {
        let mut by_number: Vec<(u32, f64)> = Vec::with_capacity(numbers.len() - number);
        let mut sum = 0.0;
        for alike in of_token {
            let (count, share) = (alike.count as usize, shares[at]);
            let each = share / f64::from(alike.count);
            by_number.extend(numbers[number..number + count].iter().map(|nr| (*nr, each)));
            (at, number, sum) = (at + 1, number + count, sum + share);
        }
        let token = of_token.first().map(|alike| alike.first.token)?;
        let section = cases.sections().iter().find(|section| section.token == token)?;
        codes.push((token, by_cases.section(section, by_number)?));
        weights.push((token, sum));
    }
    if codes.len() != cases.sections().len() {
        return None;
    }
    let entry = by_cases.arches(&codes, weights, cases.bad_arch())?;
    let graph = by_cases.lists.graph;
    let layout = Layout::Seccomp;
    let frequencies = Frequencies::new(&graph, entry, layout, (&syscalls, &shares));
    let kernel = native::kernel(syscalls.first().map_or(0, |syscall| syscall.token));
    let input = (layout, cases.endian());
    let program = lay_out(&graph, entry, &frequencies, kernel, input, Aim::Quick);
    let is_allowed = program.insns.iter().all(|insn| instructions.allows(insn.op));
    is_allowed.then_some(program)
}

/// The interval around a number, and whether it is always allowed.
fn around(cases: &Cases, token: u32, nr: u32) -> Interval<bool> {
    let section = cases.sections().iter().find(|section| section.token == token);
    let of_section = section.map_or(&[][..], |section| &section.intervals);
    let at = of_section.partition_point(|interval| interval.last < nr);
    match of_section.get(at) {
        Some(interval) => {
            let then = cases.verdict(interval.list) == Some(Verdict::ALLOW);
            Interval { first: interval.first, last: interval.last, then }
        }
        None => Interval { first: 0, last: u32::MAX, then: cases.bad_arch() == Verdict::ALLOW },
    }
}

/// Where a number or an arch continues.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Exit {
    /// At the code of a list of clauses.
    List(usize),
    Code(CodeId),
}

struct ByCases<'c> {
    lists: Lists<'c>,
    instructions: Instructions,
}

impl ByCases<'_> {
    /// The code of the numbers of an arch.
    fn section(&mut self, section: &SectionCases, weights: Vec<(u32, f64)>) -> Option<CodeId> {
        let interval = |interval: &callgate_proof::NumberInterval| {
            let then = Exit::List(interval.list);
            Interval { first: interval.first, last: interval.last, then }
        };
        let intervals: Vec<Interval<Exit>> = section.intervals.iter().map(interval).collect();
        self.dispatched(Word::NR, intervals, weights)
    }

    /// The code of the arches, with the code of each token.
    fn arches(
        &mut self,
        arches: &[(u32, CodeId)],
        weights: Vec<(u32, f64)>,
        bad_arch: Verdict,
    ) -> Option<CodeId> {
        let bad_arch = Exit::Code(self.lists.graph.add(Code::Return(bad_arch)));
        let mut intervals: Vec<Interval<Exit>> = Vec::with_capacity(2 * arches.len() + 1);
        let mut next = Some(0);
        for (token, code) in arches {
            let (first, last) = (next?, *token);
            if first < last {
                intervals.push(Interval { first, last: last - 1, then: bad_arch });
            }
            intervals.push(Interval { first: last, last, then: Exit::Code(*code) });
            next = token.checked_add(1);
        }
        let rest = next.map(|first| Interval { first, last: u32::MAX, then: bad_arch });
        intervals.extend(rest);
        self.dispatched(Word::ARCH, intervals, weights)
    }

    /// The code that loads a word, and finds the exit of its value.
    fn dispatched(
        &mut self,
        word: Word,
        intervals: Vec<Interval<Exit>>,
        weights: Vec<(u32, f64)>,
    ) -> Option<CodeId> {
        let lists = intervals.iter().filter_map(|interval| match interval.then {
            Exit::List(list) => Some(list),
            Exit::Code(_) => None,
        });
        for list in lists.collect::<Vec<usize>>() {
            self.lists.code(list)?;
        }
        let code = dispatch(self, word, intervals, weights).ok()?;
        let next = match self.lists.graph.get(code) {
            Code::Return(_) => return Some(code),
            _ => code,
        };
        Some(self.lists.graph.add(Code::Load { word, next }))
    }
}

impl Exits for ByCases<'_> {
    type Exit = Exit;

    fn graph(&mut self) -> &mut Graph {
        &mut self.lists.graph
    }

    fn exit(&mut self, exit: Exit) -> Result<CodeId, DiagramError> {
        match exit {
            Exit::Code(code) => Ok(code),
            Exit::List(list) => {
                let no_code = DiagramError::defect("each list has code");
                self.lists.code(list).ok_or(no_code)
            }
        }
    }

    fn settings(&self) -> Settings {
        Settings { aim: Aim::Quick, instructions: self.instructions, layout: Layout::Seccomp }
    }
}
