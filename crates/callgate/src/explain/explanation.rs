//! Explanations: syscalls grouped by outcome.

use callgate_codegen::query::{ArgPart, Clause, ValueSet};
use callgate_core::{Arch, SyscallSet, Verdict};

/// What a filter does.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Explanation {
    /// Per requested architecture, in the given order.
    pub arches: Vec<ArchExplanation>,
    /// The verdict for syscalls of all other architectures, if it is the same for all.
    pub other_arches: Option<Verdict>,
    /// Whether the filter compares the architecture at all.
    pub checks_arch: bool,
    /// Where a multiplexer such as `socketcall` or another ABI permits what the filter denies, in words. Empty unless the
    /// caller looked for it, as [`Filter::explain`](crate::Filter::explain) does with the feature `sources`.
    pub notes: Vec<String>,
}

/// What a filter does with the syscalls of one architecture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ArchExplanation {
    /// The architecture.
    pub arch: Arch,
    /// Syscalls grouped by outcome: first the allowed ones, then those with conditions, then the others.
    pub groups: Vec<Group>,
    /// The numbers without a name, by outcome. If several of the architectures share a token, the names of all of them
    /// count.
    pub unnamed: Vec<(Outcome, SyscallSet)>,
    /// The syscalls that are allowed with [dangerous arguments](crate::purposes::Danger::values).
    pub dangers: Vec<&'static str>,
}

/// Syscalls with the same outcome.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// The outcome.
    pub outcome: Outcome,
    /// Numbers and names, in order of the numbers.
    pub syscalls: Vec<(u32, &'static str)>,
}

/// The outcome of a syscall.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// The same verdict for all arguments.
    Always(Verdict),
    /// It depends on the arguments: the first clause that applies decides.
    Depends {
        /// In order.
        clauses: Vec<Clause>,
        /// The verdict if none applies.
        otherwise: Verdict,
    },
    /// It depends on the arguments (for numbers without a name, on the number) in more ways than can be listed.
    Complex {
        /// The verdicts that occur, in order of their values.
        verdicts: Vec<Verdict>,
    },
}

impl Outcome {
    /// Replaces low halves of arguments by whole arguments, for ABIs whose programs pass 32 bits.
    pub(super) fn narrow(&mut self) {
        if let Outcome::Depends { clauses, .. } = self {
            for condition in clauses.iter_mut().flat_map(|clause| &mut clause.conditions) {
                let other = match &mut condition.values {
                    ValueSet::Compared { part, .. } => Some(part),
                    _ => None,
                };
                for part in std::iter::once(&mut condition.part).chain(other) {
                    if *part == ArgPart::Low {
                        *part = ArgPart::Whole;
                    }
                }
            }
        }
    }
}
