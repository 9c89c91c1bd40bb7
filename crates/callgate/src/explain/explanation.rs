//! Explanations: syscalls grouped by outcome.

use super::condition::{ArgPart, Clause};
use callgate_bpf::syscalls::Arch;
use callgate_bpf::verdict::Verdict;
use callgate_proof::policy::CallSet;

/// What a filter does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Per architecture that was asked for, in that order.
    pub arches: Vec<ArchExplanation>,
    /// What calls of all other architectures get, where that is one verdict.
    pub other_arches: Option<Verdict>,
}

/// What a filter does with the calls of one architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchExplanation {
    /// The architecture.
    pub arch: Arch,
    /// Calls with the same outcome; first the allowed, then conditional ones, then the others.
    pub groups: Vec<Group>,
    /// The numbers that have no name, by outcome. Where several of the architectures share a token,
    /// the names of all of them count.
    pub unnamed: Vec<(Outcome, CallSet)>,
}

/// Calls that have one outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// What happens to them.
    pub outcome: Outcome,
    /// Number and name, in order of the numbers.
    pub calls: Vec<(u32, &'static str)>,
}

/// What happens to a call.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Always the same.
    Always(Verdict),
    /// It depends on the arguments: the first clause that applies decides.
    Depends {
        /// In order.
        clauses: Vec<Clause>,
        /// When none applies.
        otherwise: Verdict,
    },
    /// It depends on the arguments, or for numbers without a name on the number, in more ways than can
    /// be listed.
    Complex {
        /// The verdicts that occur, in order of their values.
        verdicts: Vec<Verdict>,
    },
}

impl Outcome {
    /// Takes the low halves of arguments for all of them, as they are where the high ones are always 0.
    pub(super) fn narrow(&mut self) {
        if let Outcome::Depends { clauses, .. } = self {
            for condition in clauses.iter_mut().flat_map(|clause| &mut clause.conditions) {
                if condition.part == ArgPart::Low {
                    condition.part = ArgPart::Whole;
                }
            }
        }
    }
}
