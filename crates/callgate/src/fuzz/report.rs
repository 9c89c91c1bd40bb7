//! What the fuzzer found.

use super::executed::Edge;
use callgate_bpf::data::SeccompData;
use callgate_bpf::verdict::Verdict;
use callgate_proof::diagram::DiagramError;

/// Everything that is known after a search.
#[derive(Clone, Debug)]
pub struct Report {
    /// How far each program was executed.
    pub coverage: Vec<Coverage>,
    /// Each form of the filter beside the reference.
    pub comparisons: Vec<Comparison>,
    /// Where the diagram and the interpreter do not agree about what is executed.
    pub contradictions: Vec<Contradiction>,
    /// How many calls were made.
    pub calls: u64,
    /// The different calls that were made, in their order; the first some hundred thousand of them.
    pub kept: Vec<SeccompData>,
    /// The seed of the random choices.
    pub seed: u64,
}

impl Report {
    /// Whether nothing differed.
    pub fn agrees(&self) -> bool {
        self.contradictions.is_empty() && self.comparisons.iter().all(|one| one.mismatches == 0)
    }

    /// Whether all code was executed or is proved dead.
    pub fn is_complete(&self) -> bool {
        self.coverage.iter().all(Coverage::is_complete)
    }
}

/// How far a program was executed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Coverage {
    /// The program's name.
    pub name: String,
    /// How many instructions it has.
    pub insns: usize,
    /// How many of them were executed.
    pub insns_executed: usize,
    /// The instructions that no call can reach.
    pub dead_insns: Vec<usize>,
    /// How many sides its branches have, two each.
    pub sides: usize,
    /// How many of them were taken.
    pub sides_taken: usize,
    /// The sides that no call can take.
    pub dead_sides: Vec<Edge>,
    /// The sides that were not taken, and are not proved dead either.
    pub missed_sides: Vec<Edge>,
    /// Why something is not known: the diagram was too large.
    pub why: Option<DiagramError>,
}

impl Coverage {
    /// Whether every instruction and every side of a branch was executed or is proved dead.
    pub fn is_complete(&self) -> bool {
        self.insns_executed + self.dead_insns.len() == self.insns
            && self.sides_taken + self.dead_sides.len() == self.sides
    }
}

/// One form of the filter beside the reference.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Comparison {
    /// The reference.
    pub left: String,
    /// What is compared with it.
    pub right: String,
    /// On how many calls.
    pub calls: u64,
    /// On how many of them they differ.
    pub mismatches: u64,
    /// The first of these.
    pub first: Option<Mismatch>,
}

/// A call on which two forms of a filter differ.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mismatch {
    /// The call.
    pub data: SeccompData,
    /// What the reference says.
    pub left: Verdict,
    /// What the other says.
    pub right: Verdict,
}

impl Comparison {
    /// A comparison of two, with no call so far.
    pub fn new(left: impl Into<String>, right: impl Into<String>) -> Comparison {
        Comparison { left: left.into(), right: right.into(), calls: 0, mismatches: 0, first: None }
    }

    /// Counts what both say of a call.
    pub fn add(&mut self, data: &SeccompData, left: Verdict, right: Verdict) {
        self.calls += 1;
        if left != right {
            self.mismatches += 1;
            self.first.get_or_insert(Mismatch { data: *data, left, right });
        }
    }
}

/// A call that takes a side of a branch which the diagram says is dead, or does not take one which the
/// diagram says it takes. Either would be a defect of this crate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Contradiction {
    /// The program's name.
    pub name: String,
    /// The side of a branch.
    pub side: Edge,
    /// The call.
    pub data: SeccompData,
    /// Whether the interpreter takes that side.
    pub taken: bool,
}
