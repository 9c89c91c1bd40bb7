//! From cases to a program.

use callgate_core::diagram::DiagramError;
use callgate_core::{Arch, Cases, Layout, NumberInterval, Op, SectionCases, Verdict, Word};

use super::lists::{Lists, Repeating};
use super::short::short_program;
use crate::code::{CodeId, Graph, Held};
use crate::cost::{Aim, Model};
use crate::dispatch::{Exits, FREQUENT, Settings, dispatch};
use crate::layout::{Program, lay_out};
use crate::query::Interval;
use crate::weights::{Alike, Permission, WeightedSyscall, Weights, shares_of_alike};
use crate::{Instructions, Result};

/// A program for cases; `None` if they need too much code. The program may be longer than the kernel accepts. The aim decides only
/// the search trees and the layout; clauses are always tested in order. With [`Aim::Quick`] and without weights, short filters
/// have a plan of their own.
pub fn generate_by_cases(
    cases: &Cases,
    weights: &Weights,
    arches: &[Arch],
    model: Model,
    (aim, repeating): (Aim, Repeating),
    instructions: Instructions,
) -> Option<Program> {
    if weights.is_uniform() && aim == Aim::Quick {
        if let Some(insns) = short_program(cases, arches, instructions) {
            return Some(Program { insns, patches: Vec::new() });
        }
    }
    with_graph(cases, weights, arches, model, (aim, repeating), instructions)
}

/// As [`generate_by_cases`], for cases that are not short. Not inlined, so that this code does not lie between the functions
/// that short filters use.
#[inline(never)]
fn with_graph(
    cases: &Cases,
    weights: &Weights,
    arches: &[Arch],
    model: Model,
    (aim, repeating): (Aim, Repeating),
    instructions: Instructions,
) -> Option<Program> {
    let distribution = weights.distribution(model, arches);
    let alike = weights.resolve_alike(arches, |token| intervals(cases, token));
    let syscalls: Vec<WeightedSyscall> = alike.iter().map(|alike| alike.first).collect();
    let shares = shares_of_alike(&syscalls, |at| alike[at].count, distribution);
    // About one node for each interval of numbers, and for each clause.
    let of_numbers = cases.sections().iter().map(|section| section.intervals.len());
    let clauses = (0..cases.lists()).map(|list| cases.list(list).count());
    let graph = Graph::with_capacity(of_numbers.chain(clauses).sum());
    let mut lists = Lists::new(cases, graph, (aim, repeating), instructions);
    let (mut codes, mut weights) = (Vec::with_capacity(cases.sections().len()), Vec::new());
    let mut at = 0;
    for of_token in alike.chunk_by(|a, b| a.first.token == b.first.token) {
        let shares_of_token = &shares.all[at..at + of_token.len()];
        at += of_token.len();
        let token = of_token.first().map(|alike| alike.first.token)?;
        let section = cases.sections().iter().find(|section| section.token == token)?;
        let by_number = by_number(of_token, shares_of_token);
        codes.push((token, lists.section(section, by_number)?));
        weights.push((token, shares_of_token.iter().sum()));
    }
    if codes.len() != cases.sections().len() {
        return None;
    }
    let entry = lists.arches(&codes, weights, cases.bad_arch())?;
    // The layout needs their memory.
    drop(alike);
    let graph = lists.into_graph();
    let input = (Layout::Seccomp, cases.endian());
    let program = lay_out(&graph, entry, (&syscalls, &shares), input, aim);
    let is_allowed = program.insns.iter().all(|insn| instructions.allows(insn.op));
    is_allowed.then_some(program)
}

/// The intervals of the numbers of a token, and whether they are permitted.
fn intervals(cases: &Cases, token: u32) -> impl Iterator<Item = Interval<Permission>> {
    let section = cases.sections().iter().find(|section| section.token == token);
    let intervals = section.map_or(&[][..], |section| &section.intervals);
    intervals.iter().map(|NumberInterval { first, last, list }| {
        let then = Permission::of(cases.verdict(*list));
        Interval { first: *first, last: *last, then }
    })
}

/// The weights of numbers. Syscalls of an architecture that are alike are one, with the weight of all, if that does not make it
/// a frequent one.
fn by_number(alike: &[Alike], shares: &[f64]) -> Vec<(u32, f64)> {
    let mut weights = Vec::with_capacity(alike.len());
    let mut rest = shares;
    for of_arch in alike.chunk_by(|a, b| a.arch == b.arch) {
        let (shares, others) = rest.split_at(of_arch.len().min(rest.len()));
        rest = others;
        let total: f64 = shares.iter().sum();
        for (alike, share) in of_arch.iter().zip(shares) {
            if alike.count == 1 || *share <= FREQUENT * total {
                weights.push((alike.first.nr, *share));
            } else {
                let each = share / f64::from(alike.count);
                weights.extend(alike.numbers().map(|nr| (nr, each)));
            }
        }
    }
    weights
}

impl Lists<'_> {
    /// The code of the numbers of an arch.
    fn section(&mut self, section: &SectionCases, weights: Vec<(u32, f64)>) -> Option<CodeId> {
        // The exits are the lists.
        let mut codes = vec![None; section.intervals.iter().map(|one| one.list + 1).max()?];
        for NumberInterval { list, .. } in &section.intervals {
            codes[*list] = Some(self.code(*list)?);
        }
        let intervals = section.intervals.iter().map(|NumberInterval { first, last, list }| {
            Interval { first: *first, last: *last, then: *list }
        });
        let intervals = intervals.collect();
        self.dispatched(Word::NR, intervals, codes, weights)
    }

    /// The code of the arches, with the code of each token, in order.
    fn arches(
        &mut self,
        arches: &[(u32, CodeId)],
        weights: Vec<(u32, f64)>,
        bad_arch: Verdict,
    ) -> Option<CodeId> {
        let otherwise = self.graph.ret(bad_arch);
        if let [(token, then)] = *arches {
            let whole = Held::whole(Word::ARCH);
            let code = self.graph.branch(whole, Op::JeqK, token, then, otherwise);
            return Some(self.loaded(Word::ARCH, code));
        }
        let mut codes = vec![Some(otherwise)];
        let mut intervals: Vec<Interval<usize>> = Vec::with_capacity(2 * arches.len() + 1);
        let mut next = Some(0);
        for (token, code) in arches {
            let (first, last) = (next?, *token);
            if first < last {
                intervals.push(Interval { first, last: last - 1, then: 0 });
            }
            intervals.push(Interval { first: last, last, then: codes.len() });
            codes.push(Some(*code));
            next = token.checked_add(1);
        }
        intervals.extend(next.map(|first| Interval { first, last: u32::MAX, then: 0 }));
        self.dispatched(Word::ARCH, intervals, codes, weights)
    }

    /// The code that loads a word, and finds the code of its value.
    fn dispatched(
        &mut self,
        word: Word,
        intervals: Vec<Interval<usize>>,
        codes: Vec<Option<CodeId>>,
        weights: Vec<(u32, f64)>,
    ) -> Option<CodeId> {
        let (graph, aim, instructions) = (&mut self.graph, self.aim, self.instructions);
        let settings = Settings { aim, instructions, layout: Layout::Seccomp };
        let code =
            dispatch(&mut Codes { graph, codes }, settings, word, intervals, weights).ok()?;
        Some(self.loaded(word, code))
    }
}

/// Exits with code.
struct Codes<'g> {
    graph: &'g mut Graph,
    codes: Vec<Option<CodeId>>,
}

impl Exits for Codes<'_> {
    fn graph(&mut self) -> &mut Graph {
        self.graph
    }

    fn exit(&mut self, exit: usize) -> Result<CodeId> {
        let no_code = DiagramError::defect("each exit has code");
        self.codes.get(exit).copied().flatten().ok_or(no_code)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::SyscallTable;

    #[test]
    fn syscalls_that_are_alike_are_one_unless_they_would_be_frequent() {
        let alike = |arch: Arch, first: u32, count: usize| {
            let last = arch.syscall_numbers().filter(|nr| *nr >= first).nth(count - 1).unwrap();
            let (token, weight, permission) = (arch.token(), 1.0, Permission::Always);
            let first = WeightedSyscall { token, nr: first, weight, permission };
            Alike { first, count: count as u32, arch, last }
        };
        let x32 = Arch::X32.first_number();
        let all = [
            alike(Arch::X86_64, 0, 1),
            alike(Arch::X86_64, 1, 100),
            alike(Arch::X86_64, 101, 2),
            alike(Arch::X32, x32, 3),
            alike(Arch::X32, x32 + 3, 50),
        ];
        // x32 has little weight, but most of that is for its first three syscalls.
        let weights = by_number(&all, &[0.5, 0.01, 0.4, 0.06, 0.001]);
        let expected = [(0, 0.5), (1, 0.01), (101, 0.2), (102, 0.2)];
        let expected = expected.into_iter().chain([0, 1, 2].map(|nr| (x32 + nr, 0.02)));
        assert!(weights.iter().copied().eq(expected.chain([(x32 + 3, 0.001)])), "{weights:?}");
    }
}
