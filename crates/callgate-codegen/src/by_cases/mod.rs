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
use crate::shares::shares;
use crate::weights::{WeightedSyscall, Weights};
use crate::{Instructions, native};
use lists::Lists;

/// The known syscalls of these architectures with their weights, as [`Weights::resolve`] returns them.
pub fn weighted_syscalls(weights: &Weights, cases: &Cases, arches: &[Arch]) -> Vec<WeightedSyscall> {
    let always_allowed = |section: &SectionCases, nr| {
        let at = section.intervals.partition_point(|interval| interval.last < nr);
        let interval = section.intervals.get(at)?;
        let then = cases.verdict(interval.list) == Some(Verdict::ALLOW);
        Some(Interval { first: interval.first, last: interval.last, then })
    };
    weights.resolve_with(arches, &mut |token, nr| {
        let section = cases.sections().iter().find(|section| section.token == token);
        let interval = section.and_then(|section| always_allowed(section, nr));
        let then = cases.bad_arch() == Verdict::ALLOW;
        interval.unwrap_or(Interval { first: 0, last: u32::MAX, then })
    })
}

/// A program for cases, with [`Aim::Quick`]; `None` if they need too much code. The program may be longer than the kernel
/// accepts.
pub fn generate_by_cases(
    cases: &Cases,
    syscalls: &[WeightedSyscall],
    model: Model,
    instructions: Instructions,
) -> Option<Program> {
    let shares = shares(syscalls, model);
    let mut by_cases = ByCases { lists: Lists::new(cases, instructions), instructions };
    let (mut arches, mut arch_weights) = (Vec::with_capacity(cases.sections().len()), Vec::new());
    for section in cases.sections() {
        let start = syscalls.partition_point(|syscall| syscall.token < section.token);
        let of_section = syscalls[start..].iter().zip(&shares[start..]);
        let of_section = of_section.take_while(|(syscall, _)| syscall.token == section.token);
        let weights: Vec<(u32, f64)> =
            of_section.map(|(syscall, share)| (syscall.nr, *share)).collect();
        arch_weights.push((section.token, weights.iter().map(|(_, weight)| weight).sum()));
        arches.push((section.token, by_cases.section(section, weights)?));
    }
    arches.sort_unstable_by_key(|(token, _)| *token);
    arch_weights.sort_unstable_by_key(|(token, _)| *token);
    let entry = by_cases.arches(&arches, arch_weights, cases.bad_arch())?;
    let graph = by_cases.lists.graph;
    let layout = Layout::Seccomp;
    let frequencies = Frequencies::new(&graph, entry, layout, (syscalls, &shares));
    let kernel = native::kernel(syscalls.first().map_or(0, |syscall| syscall.token));
    let input = (layout, cases.endian());
    let program = lay_out(&graph, entry, &frequencies, kernel, input, Aim::Quick);
    let is_allowed = program.insns.iter().all(|insn| instructions.allows(insn.op));
    is_allowed.then_some(program)
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
