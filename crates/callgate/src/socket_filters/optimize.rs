//! Optimization of socket filters: instructions and branches that change nothing are left out, step by step.
//!
//! A step leaves out an instruction, or leads one edge past some instructions. It is taken if the program becomes shorter or its
//! longest path does, and neither becomes longer, and **if it is proved to be the same function**. Almost all candidates
//! compute something else; so each is run first on a few packets, among them a witness of each candidate that was refused.
//!
//! Before and after: `ldh [12]`, `jeq #0x800, L2, drop`, `L2: ldh [12]`, `jeq #0x800, L4, L5`, … becomes `ldh [12]`,
//! `jeq #0x800, L4, drop`, …: the second test is left out because the first one implies it.
//!
//! Invariants: the result is proved; it has no more instructions than the given program, and no longer path. Limits: it does not
//! reorder tests, nor does it combine them to others, and it stops after a number of candidates.

use callgate_core::diagram::{Budget, DiagramError};
use callgate_core::{Meaning, NoAncillary, NotProved, PacketHead, Proved, SocketProgram};

use super::compare::whole;
use super::graph::{Cost, Graph, cost};
use super::summary::Results;

/// The work of the search: instructions of the candidates that are made and that are executed for packets, and the steps of the
/// proofs. A unit takes 10 to 50 ns.
const MAX_WORK: u64 = 40_000_000;

/// The maximum number of candidates that are refused by the proof.
const MAX_REFUSED: usize = 500;

/// The work to make a candidate, per instruction of the program.
const WORK_PER_INSN: u64 = 8;

/// How many steps an edge may leave out at once.
const MAX_SKIPPED: usize = 8;

/// The longest packet that candidates are run on.
const MAX_PACKET: u32 = 1 << 16;

/// The result of an optimization.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Optimized {
    /// The program, proved equal to the given one; that itself if no step was found.
    pub program: Proved<SocketProgram>,
    /// The figures of the given program.
    pub before: Figures,
    /// The figures of the resulting program.
    pub after: Figures,
    /// The number of steps; 0 if the program is the given one.
    pub steps: usize,
    /// Whether a limit ended the search, so that there may be further steps.
    pub is_cut: bool,
}

/// The figures of a socket filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Figures {
    /// The number of instructions.
    pub insns: usize,
    /// The maximum number of executed instructions.
    pub longest: usize,
}

impl From<Cost> for Figures {
    fn from(cost: Cost) -> Figures {
        Figures { insns: cost.insns, longest: cost.longest }
    }
}

/// A socket filter that returns the same for every packet, with as few instructions as the search finds.
///
/// ```
/// use callgate::socket_filters::optimize;
/// use callgate_bpf::asm;
/// use callgate_core::SocketProgram;
/// use callgate_core::diagram::Budget;
///
/// let text = "ldh [12]\n jeq #0x800, next, drop\n ldh [12]\n jeq #0x86dd, drop, next\n ldb [23]\n jeq #6, keep, drop
///     keep: ret #65535\n drop: ret #0";
/// let optimized = optimize(&SocketProgram::new(asm::assemble(text)?)?, Budget::default())?;
/// assert_eq!((optimized.before.insns, optimized.after.insns), (8, 6));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If the function of the program is not known: it exceeds the budget, or loads what the proof does not model.
pub fn optimize(program: &SocketProgram, budget: Budget) -> Result<Optimized, DiagramError> {
    let mut search = Search::new(program, budget)?;
    let before = cost(program.insns());
    let mut best = search.prove(program)?;
    let mut steps = 0;
    while let Some(better) = search.step(&best) {
        best = better;
        steps += 1;
    }
    let after = cost(best.insns()).into();
    let is_cut = search.is_exhausted();
    Ok(Optimized { program: best, before: before.into(), after, steps, is_cut })
}

/// The search for steps.
struct Search<'p> {
    given: &'p SocketProgram,
    budget: Budget,
    /// The function of the given program.
    meaning: Meaning<PacketHead>,
    /// Packets, with what the given program returns for each.
    packets: Vec<(Vec<u8>, u32)>,
    work: u64,
    refused: usize,
    /// The node at which the last step was found: the search goes on there.
    cursor: usize,
}

impl<'p> Search<'p> {
    fn new(given: &'p SocketProgram, budget: Budget) -> Result<Search<'p>, DiagramError> {
        let meaning = Meaning::of_socket_program(given, budget)?;
        let results = Results::of(meaning.store(), meaning.func());
        let packets = Vec::new();
        let mut search = Search { given, budget, meaning, packets, work: 0, refused: 0, cursor: 0 };
        for returned in results.returned {
            search.add(&returned.shortest);
        }
        search.add(&PacketHead::of(&[0; 128]));
        Ok(search)
    }

    fn add(&mut self, head: &PacketHead) {
        if head.len() <= MAX_PACKET {
            let packet = whole(head);
            let value = self.given.run(&packet, &NoAncillary);
            self.packets.push((packet, value));
        }
    }

    fn is_exhausted(&self) -> bool {
        self.work >= MAX_WORK || self.refused >= MAX_REFUSED
    }

    /// Proves that a program is the given one. If the diagram of all candidates so far exceeds the budget, it starts anew.
    fn prove(&mut self, program: &SocketProgram) -> Result<Proved<SocketProgram>, DiagramError> {
        let unknown = DiagramError::defect("a program computes its own function");
        let refusal = |refused: NotProved<PacketHead>| refused.diagram_error().unwrap_or(unknown);
        let first = match self.meaning.prove_socket_program(program) {
            Ok(proved) => return Ok(proved),
            Err(refused) => refused,
        };
        if let Some(packet) = first.witness().copied() {
            self.add(&packet);
        }
        let error = refusal(first);
        if !error.is_out_of_budget() {
            return Err(error);
        }
        self.meaning = Meaning::of_socket_program(self.given, self.budget)?;
        self.meaning.prove_socket_program(program).map_err(refusal)
    }

    /// A better program, one step away.
    fn step(&mut self, program: &Proved<SocketProgram>) -> Option<Proved<SocketProgram>> {
        let given = Graph::of(program);
        let merged = given.merged();
        let now = cost(program.insns());
        // What is the same twice, and what nothing reaches.
        if let Some(better) = self.try_graph(program, now, &|| given.clone()) {
            return Some(better);
        }
        let graph = if merged.insns().is_some() { merged } else { given };
        let nodes = graph.reachable();
        let start = self.cursor.min(nodes.len());
        let (before, from) = nodes.split_at_checked(start)?;
        for (at, index) in (start..).zip(from).chain((0..).zip(before)) {
            if let Some(better) = self.step_at(program, now, &graph, *index) {
                self.cursor = at.saturating_sub(1);
                return Some(better);
            }
        }
        None
    }

    /// A better program without a node, or with an edge of it that leads further.
    fn step_at(
        &mut self,
        program: &SocketProgram,
        now: Cost,
        graph: &Graph,
        index: usize,
    ) -> Option<Proved<SocketProgram>> {
        if self.is_exhausted() {
            return None;
        }
        for to in graph.edges_of(index).map(|(_, to)| to).filter(|to| *to != index) {
            let without = || graph.without(index, to);
            if let Some(better) = self.try_graph(program, now, &without) {
                return Some(better);
            }
        }
        for (edge, at) in graph.edges_of(index) {
            // The longest way first.
            for to in graph.after(at, MAX_SKIPPED).into_iter().rev() {
                let longer = || graph.with_edge(edge, to);
                if let Some(better) = self.try_graph(program, now, &longer) {
                    return Some(better);
                }
            }
        }
        None
    }

    /// The program of a graph, if it is better and proved.
    fn try_graph(
        &mut self,
        program: &SocketProgram,
        now: Cost,
        graph: &dyn Fn() -> Graph,
    ) -> Option<Proved<SocketProgram>> {
        if self.is_exhausted() {
            return None;
        }
        self.work += WORK_PER_INSN * now.insns as u64;
        let graph = graph();
        // In a long program, one copy of a return is too far away for some branches.
        let insns = graph.merged().insns().or_else(|| graph.insns())?;
        if !cost(&insns).improves(now) {
            return None;
        }
        let candidate = SocketProgram::new(insns).ok()?;
        let mut work = 0;
        let agrees = self.packets.iter().all(|(packet, value)| {
            let run = |program: &SocketProgram| {
                let mut executed = 0;
                (program.trace(packet, &NoAncillary, |_| executed += 1), executed)
            };
            let ((result, executed), (_, before)) = (run(&candidate), run(program));
            work += executed + before;
            result == *value && executed <= before
        });
        self.work += work;
        if !agrees {
            return None;
        }
        let proved = self.prove(&candidate);
        self.work += self.meaning.store().steps();
        self.refused += usize::from(proved.is_err());
        proved.ok()
    }
}
