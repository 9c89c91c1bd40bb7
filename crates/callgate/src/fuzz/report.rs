//! What the fuzzer gets, what a program has executed, and the report.

use callgate_core::diagram::{Budget, DiagramError};
use callgate_core::policy::Policy;
use callgate_core::{Arch, Endian, Program, SeccompData, Verdict};

use crate::plain_program::PlainProgramError;

/// The result of a search.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Report {
    /// The coverage of each program.
    pub coverage: Vec<Coverage>,
    /// The comparison of each form with the reference.
    pub comparisons: Vec<Comparison>,
    /// Contradictions between the diagram and the interpreter about what is executed.
    pub contradictions: Vec<Contradiction>,
    /// The number of syscalls that were run.
    pub syscalls: u64,
    /// The distinct syscalls, in order; only the first few hundred thousand.
    pub kept: Vec<SeccompData>,
    /// The seed of the random choices.
    pub seed: u64,
    /// The rules that are compared without coverage, because no program can test one after the other.
    pub without_coverage: Vec<WithoutCoverage>,
}

/// Rules without a plain program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct WithoutCoverage {
    /// The name of the filter.
    pub name: String,
    /// Why there is no such program.
    pub why: PlainProgramError,
}

impl WithoutCoverage {
    pub(super) fn new(name: String, why: PlainProgramError) -> WithoutCoverage {
        WithoutCoverage { name, why }
    }
}

impl Report {
    /// Whether there are no mismatches and no contradictions.
    pub fn agrees(&self) -> bool {
        self.contradictions.is_empty() && self.comparisons.iter().all(|one| one.mismatches == 0)
    }

    /// Whether all code was executed or proved dead.
    pub fn is_complete(&self) -> bool {
        self.coverage.iter().all(Coverage::is_complete)
    }
}

/// The coverage of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Coverage {
    /// The name of the program.
    pub name: String,
    /// The number of instructions.
    pub insns: usize,
    /// The number of executed instructions.
    pub insns_executed: usize,
    /// The instructions that are proved unreachable.
    pub dead_insns: Vec<usize>,
    /// The number of edges of branches, two per branch.
    pub edges: usize,
    /// The number of edges that were taken.
    pub edges_taken: usize,
    /// The edges that are proved dead.
    pub dead_edges: Vec<Edge>,
    /// The edges that were neither taken nor proved dead.
    pub missed_edges: Vec<Edge>,
    /// The reason for missing results: the diagram exceeded its budget.
    pub why: Option<DiagramError>,
}

impl Coverage {
    /// Whether every instruction and every edge was executed or proved dead.
    pub fn is_complete(&self) -> bool {
        self.insns_executed + self.dead_insns.len() == self.insns
            && self.edges_taken + self.dead_edges.len() == self.edges
    }
}

/// The comparison of a form of the filter with the reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The reference.
    pub left: String,
    /// The form that is compared with it.
    pub right: String,
    /// The number of syscalls.
    pub syscalls: u64,
    /// The number of syscalls for which they differ.
    pub mismatches: u64,
    /// The first mismatch.
    pub first: Option<Mismatch>,
}

/// A syscall for which two forms of a filter differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The syscall.
    pub data: SeccompData,
    /// The verdict of the reference.
    pub left: Verdict,
    /// The verdict of the other form.
    pub right: Verdict,
}

impl Comparison {
    /// A comparison without syscalls so far.
    pub fn new(left: impl Into<String>, right: impl Into<String>) -> Comparison {
        Comparison {
            left: left.into(),
            right: right.into(),
            syscalls: 0,
            mismatches: 0,
            first: None,
        }
    }

    /// Counts a syscall with the verdicts of both forms.
    pub fn add(&mut self, data: &SeccompData, left: Verdict, right: Verdict) {
        self.syscalls += 1;
        if left != right {
            self.mismatches += 1;
            self.first.get_or_insert(Mismatch { data: *data, left, right });
        }
    }
}

/// A syscall that takes an edge which the diagram considers dead, or does not take the edge that it should according to
/// the diagram. Either is a defect of this library.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Contradiction {
    /// The name of the program.
    pub name: String,
    /// The edge.
    pub edge: Edge,
    /// The syscall.
    pub data: SeccompData,
    /// Whether the interpreter takes the edge.
    pub taken: bool,
}

/// A program to be compared, with its name in the report.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Subject {
    /// The name in the report.
    pub name: String,
    /// The program.
    pub program: Program,
}

impl Subject {
    /// A program with a name.
    pub fn new(name: impl Into<String>, program: Program) -> Subject {
        Subject { name: name.into(), program }
    }
}

/// The forms of a filter to be compared.
#[derive(Clone, Copy, Debug)]
pub struct Input<'a> {
    /// The rules, which are the reference. Without them, the first program is the reference.
    pub policy: Option<&'a Policy>,
    /// The programs.
    pub programs: &'a [Subject],
    /// The architectures of the filter.
    pub arches: &'a [Arch],
    /// The byte order of the machines that the filter is for.
    pub endian: Endian,
}

/// The random search of the fuzzer, and its limits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Search {
    /// The seed of the random choices; the same seed gives the same syscalls.
    pub seed: u64,
    /// The number of random syscalls.
    pub runs: u64,
    /// The budget of the diagram of each program.
    pub budget: Budget,
}

impl Default for Search {
    /// 20,000 random syscalls with a fixed seed.
    fn default() -> Search {
        Search { seed: 1, runs: 20_000, budget: Budget::default() }
    }
}

/// An edge of a branch.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Edge {
    /// The index of the branch.
    pub index: usize,
    /// Whether it is the taken edge: the condition holds.
    pub holds: bool,
}

/// The executed part of a program.
#[derive(Clone, Debug)]
pub(super) struct Executed {
    insns: Vec<bool>,
    /// Per instruction, the first syscall that took each edge: condition false, condition true.
    edges: Vec<[Option<SeccompData>; 2]>,
}

impl Executed {
    pub(super) fn new(program: &Program) -> Executed {
        Executed { insns: vec![false; program.len()], edges: vec![[None; 2]; program.len()] }
    }

    /// Runs the program and records what it executes.
    pub(super) fn run(&mut self, program: &Program, data: &SeccompData, endian: Endian) -> Verdict {
        let run = program.trace(data, endian, |step| {
            if let Some(seen) = self.insns.get_mut(step.index) {
                *seen = true;
            }
            if let (Some(holds), Some(edge)) = (step.holds(), self.edges.get_mut(step.index)) {
                edge[usize::from(holds)].get_or_insert(*data);
            }
        });
        run.verdict
    }

    pub(super) fn has_insn(&self, index: usize) -> bool {
        self.insns.get(index).copied().unwrap_or(false)
    }

    /// The first syscall that took this edge.
    pub(super) fn taken_by(&self, edge: Edge) -> Option<SeccompData> {
        let [fails, holds] = self.edges.get(edge.index)?;
        if edge.holds { *holds } else { *fails }
    }
}

/// The edges of all branches of a program.
pub(super) fn edges(program: &Program) -> impl Iterator<Item = Edge> + '_ {
    let branches = program.iter().enumerate().filter(|(_, insn)| insn.op.is_branch());
    branches.flat_map(|(index, _)| [false, true].map(|holds| Edge { index, holds }))
}
