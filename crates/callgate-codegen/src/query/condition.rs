//! Conditions on arguments. Their text is in [`words`](super::words).

use callgate_core::diagram::Func;
use callgate_core::policy::VariableRelation;
use callgate_core::{Arch, Verdict};

/// Arguments for which a verdict holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Clause {
    /// All of these must hold.
    pub conditions: Vec<ValueCondition>,
    /// The verdict.
    pub verdict: Verdict,
}

/// The values of an argument, or the relation to another one, that lead to an exit.
#[derive(Clone, Debug)]
pub struct Branch {
    /// The condition that its values meet.
    pub condition: ValueCondition,
    /// The number of values.
    pub size: u128,
    /// The exit.
    pub then: Func,
}

/// A condition on one argument, or on the instruction pointer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ValueCondition {
    /// The argument's index, 0–5; `None` for the instruction pointer.
    pub arg: Option<u8>,
    /// The part of it that is tested.
    pub part: ArgPart,
    /// The values for which the condition holds.
    pub values: ValueSet,
}

/// The part of an argument that a condition tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ArgPart {
    /// All bits: 64, or 32 where registers have 32 bits
    /// ([`has_wide_registers`](callgate_core::Arch::has_wide_registers)).
    Whole,
    /// The low 32 bits.
    Low,
    /// The high 32 bits.
    High,
}

/// A set of values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ValueSet {
    /// These ranges, inclusive.
    Ranges(Vec<(u64, u64)>),
    /// Values with `value & mask == wanted`.
    Masked {
        /// The tested bits.
        mask: u64,
        /// Their required value.
        wanted: u64,
    },
    /// Values with `value & mask != wanted`.
    NotMasked {
        /// The tested bits.
        mask: u64,
        /// Their excluded value.
        wanted: u64,
    },
    /// Values that are in this relation to another argument.
    Compared {
        /// The relation; the other argument is the right operand.
        relation: VariableRelation,
        /// The other argument's index; `None` for the instruction pointer.
        arg: Option<u8>,
        /// The part of it that is compared.
        part: ArgPart,
    },
    /// More values than can be listed; their number.
    Many(u128),
}

impl Clause {
    /// Whether no syscall satisfies both. False if unknown.
    pub fn is_disjoint(&self, other: &Clause) -> bool {
        self.conditions.iter().any(|a| {
            other.conditions.iter().any(|b| {
                (a.arg, a.part) == (b.arg, b.part)
                    && match (&a.values, &b.values) {
                        (ValueSet::Ranges(a), ValueSet::Ranges(b)) => {
                            a.iter().all(|(first, last)| {
                                b.iter().all(|(from, to)| last < from || to < first)
                            })
                        }
                        _ => false,
                    }
            })
        })
    }
}

/// The syscall that gives arguments their names in a condition of several syscalls: if it is the only one.
pub fn argument_names<'n>(syscalls: &[(u32, &'n str)], arch: Arch) -> Option<&'n str> {
    match syscalls {
        // CONFIG_CLONE_BACKWARDS2 swaps the first two arguments.
        [(_, "clone")] if matches!(arch, Arch::S390x | Arch::S390) => None,
        [(_, name)] => Some(*name),
        _ => None,
    }
}
