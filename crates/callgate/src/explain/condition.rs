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
    /// Which part of it.
    pub part: ArgPart,
    /// What it must be.
    pub values: ValueSet,
}

/// Which bits of an argument are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ArgPart {
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
pub enum ValueSet {
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

/// Small numbers in decimal, others in hexadecimal.
fn number(value: u64) -> String {
    if value < 4096 { value.to_string() } else { format!("{value:#x}") }
}
