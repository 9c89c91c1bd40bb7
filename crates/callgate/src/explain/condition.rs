//! Conditions on arguments, and their text.

use std::fmt;

use callgate_bpf::syscalls::facts;
use callgate_bpf::verdict::Verdict;

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
    /// The part of it that is tested.
    pub part: ArgPart,
    /// The values for which the condition holds.
    pub values: ValueSet,
}

/// The part of an argument that a condition tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ArgPart {
    /// All bits: 64, or 32 where registers have 32 bits
    /// ([`has_wide_registers`](callgate_bpf::Arch::has_wide_registers)).
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
    /// More values than can be listed; their number.
    Many(u128),
}

impl ValueCondition {
    /// The text of the condition, with the name of the argument in this syscall if it is known.
    pub fn describe(&self, syscall: Option<&str>) -> String {
        let named = syscall
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
            ArgPart::Whole => name,
            ArgPart::Low => format!("{name}.low"),
            ArgPart::High => format!("{name}.high"),
        };
        self.values
            .describe(&name, if self.part == ArgPart::Whole { u64::MAX } else { 0xffff_ffff })
    }
}

impl fmt::Display for ValueCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe(None))
    }
}

impl ValueSet {
    fn describe(&self, name: &str, max: u64) -> String {
        match self {
            ValueSet::Ranges(ranges) => {
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
            ValueSet::Masked { mask, wanted } if *mask == max => {
                format!("{name} == {}", number(*wanted))
            }
            ValueSet::Masked { mask, wanted } => {
                format!("{name} & {mask:#x} == {}", number(*wanted))
            }
            ValueSet::NotMasked { mask, wanted } => {
                format!("{name} & {mask:#x} != {}", number(*wanted))
            }
            ValueSet::Many(count) => format!("{name} is one of {count} values"),
        }
    }
}

impl Clause {
    /// The text of the conditions in one line, with the names of the arguments in this syscall if they are known.
    pub fn describe(&self, syscall: Option<&str>) -> String {
        let parts: Vec<String> = self
            .conditions
            .iter()
            .map(|condition| {
                let text = condition.describe(syscall);
                let ambiguous = self.conditions.len() > 1 && text.contains(" or ");
                if ambiguous { format!("({text})") } else { text }
            })
            .collect();
        parts.join(" and ")
    }

    /// Whether no syscall satisfies both. False if unknown.
    pub(super) fn is_disjoint(&self, other: &Clause) -> bool {
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

/// Numbers less than 4096 in decimal, others in hexadecimal.
fn number(value: u64) -> String {
    if value < 4096 { value.to_string() } else { format!("{value:#x}") }
}
