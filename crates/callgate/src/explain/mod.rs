//! What happens to which call, for people.
//!
//! A filter's function is read back from the diagram: so an explanation is of what a program *does*,
//! whoever wrote it, and equal filters have equal explanations. Conditions on arguments come out as
//! an ordered list of [`Clause`]s of which the first that applies decides.

mod read;

pub use read::explain;

use std::fmt;

use callgate_bpf::syscalls::{Arch, facts};
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

/// Arguments for which a verdict holds.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Clause {
    /// All of these must hold.
    pub conditions: Vec<ValueCondition>,
    /// The verdict.
    pub verdict: Verdict,
}

/// A condition on one argument, or on the instruction pointer.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct ValueCondition {
    /// The argument's index, 0–5; `None` for the instruction pointer.
    pub arg: Option<u8>,
    /// Which part of it.
    pub part: Part,
    /// What it must be.
    pub values: Values,
}

/// Which bits of an argument are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Part {
    /// All of them: 64, or 32 where a filter never sees more
    /// ([`has_wide_registers`](Arch::has_wide_registers)).
    Whole,
    /// The low 32.
    Low,
    /// The high 32.
    High,
}

/// A set of values.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Values {
    /// These ranges, ends included.
    Ranges(Vec<(u64, u64)>),
    /// Those with `value & mask == wanted`.
    Masked {
        /// The bits looked at.
        mask: u64,
        /// What they must be.
        wanted: u64,
    },
    /// Those with `value & mask != wanted`.
    NotMasked {
        /// The bits looked at.
        mask: u64,
        /// What they must not be.
        wanted: u64,
    },
    /// More than can be listed; the number of values is known.
    Many(u128),
}

impl ValueCondition {
    /// Written with the name that an argument has in this call, if it is known.
    pub fn describe(&self, call: Option<&str>) -> String {
        let named = call
            .and_then(facts)
            .zip(self.arg)
            .and_then(|(facts, arg)| facts.args.get(usize::from(arg)))
            .map(|arg| arg.name.to_string());
        let name = match (named, self.arg) {
            (Some(name), _) => name,
            (None, Some(arg)) => format!("args[{arg}]"),
            (None, None) => "instruction_pointer".to_string(),
        };
        let name = match self.part {
            Part::Whole => name,
            Part::Low => format!("{name}.low"),
            Part::High => format!("{name}.high"),
        };
        self.values.describe(&name, if self.part == Part::Whole { u64::MAX } else { 0xffff_ffff })
    }
}

impl fmt::Display for ValueCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe(None))
    }
}

impl Values {
    fn describe(&self, name: &str, max: u64) -> String {
        match self {
            Values::Ranges(ranges) => {
                let parts: Vec<String> = ranges
                    .iter()
                    .map(|range| match *range {
                        (first, last) if first == last => format!("{name} == {}", number(first)),
                        (0, last) => format!("{name} <= {}", number(last)),
                        (first, last) if last == max => format!("{name} >= {}", number(first)),
                        (first, last) => format!("{} <= {name} <= {}", number(first), number(last)),
                    })
                    .collect();
                let singles = ranges.iter().all(|(first, last)| first == last);
                if singles && ranges.len() > 1 {
                    let values: Vec<String> = ranges.iter().map(|(v, _)| number(*v)).collect();
                    return format!("{name} in {{{}}}", values.join(", "));
                }
                parts.join(" or ")
            }
            Values::Masked { mask, wanted } if *mask == max => {
                format!("{name} == {}", number(*wanted))
            }
            Values::Masked { mask, wanted } => format!("{name} & {mask:#x} == {}", number(*wanted)),
            Values::NotMasked { mask, wanted } => {
                format!("{name} & {mask:#x} != {}", number(*wanted))
            }
            Values::Many(count) => format!("{name} is one of {count} values"),
        }
    }
}

impl Outcome {
    /// Takes the low halves of arguments for all of them, as they are where the high ones are always 0.
    fn narrow(&mut self) {
        if let Outcome::Depends { clauses, .. } = self {
            for condition in clauses.iter_mut().flat_map(|clause| &mut clause.conditions) {
                if condition.part == Part::Low {
                    condition.part = Part::Whole;
                }
            }
        }
    }
}

impl Clause {
    /// The conditions in one line, with the names that arguments have in this call.
    pub fn describe(&self, call: Option<&str>) -> String {
        let parts: Vec<String> = self
            .conditions
            .iter()
            .map(|condition| {
                let text = condition.describe(call);
                let ambiguous = self.conditions.len() > 1 && text.contains(" or ");
                if ambiguous { format!("({text})") } else { text }
            })
            .collect();
        parts.join(" and ")
    }

    /// Whether no call meets both; when in doubt, no.
    fn is_disjoint(&self, other: &Clause) -> bool {
        self.conditions.iter().any(|a| {
            other.conditions.iter().any(|b| {
                (a.arg, a.part) == (b.arg, b.part)
                    && match (&a.values, &b.values) {
                        (Values::Ranges(a), Values::Ranges(b)) => a.iter().all(|(first, last)| {
                            b.iter().all(|(from, to)| last < from || to < first)
                        }),
                        _ => false,
                    }
            })
        })
    }
}

/// Small numbers in decimal, others in hexadecimal.
fn number(value: u64) -> String {
    if value < 4096 { value.to_string() } else { format!("{value:#x}") }
}
