//! Coverage of a program: executed instructions and taken edges.

use callgate_core::{Endian, Program, SeccompData, Verdict};

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
