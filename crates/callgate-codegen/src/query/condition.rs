//! Conditions on arguments, and their text.

use std::fmt;

use callgate_bpf::constants::Family;
use callgate_bpf::syscalls::facts;
use callgate_core::{Arch, Verdict};

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
    /// More values than can be listed; their number.
    Many(u128),
}

impl ValueCondition {
    /// The text of the condition, with the name of the argument in this syscall if it is known. Values are numbers.
    pub fn describe(&self, syscall: Option<&str>) -> String {
        self.text(syscall, &Values { max: self.max(), family: None })
    }

    /// Like [`describe`](ValueCondition::describe), with the names of values and flags on this architecture:
    /// `family == AF_ALG`.
    pub fn describe_on(&self, arch: Arch, syscall: Option<&str>) -> String {
        let index = self.arg.filter(|_| self.part != ArgPart::High);
        let family = syscall.zip(index).and_then(|(syscall, arg)| Family::of(arch, syscall, arg));
        let family = family.map(|family| (family, arch));
        self.text(syscall, &Values { max: self.max(), family })
    }

    /// The largest value of the part.
    fn max(&self) -> u64 {
        if self.part == ArgPart::Whole { u64::MAX } else { 0xffff_ffff }
    }

    fn text(&self, syscall: Option<&str>, values: &Values) -> String {
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
        self.values.describe(&name, values)
    }
}

/// How values are written.
struct Values {
    /// The largest value.
    max: u64,
    /// The constants of the argument.
    family: Option<(Family, Arch)>,
}

impl Values {
    /// A value that the argument is compared with.
    fn one(&self, value: u64) -> String {
        self.name(value).unwrap_or_else(|| number(value))
    }

    /// The name of a value. Of a negative constant, all 64 bits have the name if all are compared; else it would not tell
    /// `dfd == 0xffffff9c` from `dfd == -100`.
    fn name(&self, value: u64) -> Option<String> {
        let (family, arch) = self.family?;
        let is_wide = self.max == u64::MAX && arch.has_wide_registers();
        let extended = u32::try_from(value).map_or(value, |low| low as i32 as i64 as u64);
        let name = family.name(arch, value)?;
        (!is_wide || extended == value || family.name(arch, extended).as_ref() != Some(&name))
            .then_some(name)
    }

    /// The names of all values of ranges, if there are few and all have names.
    fn enumerated(&self, ranges: &[(u64, u64)]) -> Option<Vec<String>> {
        /// The largest number of names that is easier to read than ranges.
        const MAX: u64 = 16;
        self.family.filter(|(family, _)| family.is_enumeration())?;
        let count = ranges
            .iter()
            .try_fold(0, |sum: u64, (first, last)| sum.checked_add(last - first)?.checked_add(1))?;
        let values = ranges.iter().flat_map(|(first, last)| *first..=*last);
        if count > MAX { None } else { values.map(|value| self.name(value)).collect() }
    }

    /// A comparison of some bits.
    fn masked(&self, name: &str, mask: u64, relation: &str, wanted: u64) -> String {
        let named = |text: Option<String>, plain: String| match text {
            Some(text) if text.contains('|') => format!("({})", text.replace('|', " | ")),
            text => text.unwrap_or(plain),
        };
        let (mut tested, mut of_value) = (format!("{mask:#x}"), number(wanted));
        if let Some((family, arch)) = self.family {
            tested = named(family.name_mask(arch, mask), tested);
            of_value = named(family.name_masked(arch, mask, wanted), of_value);
        }
        format!("{name} & {tested} {relation} {of_value}")
    }
}

impl fmt::Display for ValueCondition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe(None))
    }
}

impl ValueSet {
    fn describe(&self, name: &str, values: &Values) -> String {
        let max = values.max;
        match self {
            ValueSet::Ranges(ranges) => {
                let single =
                    |(first, last): &(u64, u64)| (first == last).then(|| values.one(*first));
                let listed = values.enumerated(ranges);
                let listed = listed.or_else(|| ranges.iter().map(single).collect());
                if let Some(names) = listed.filter(|names| names.len() > 1) {
                    return format!("{name} in {{{}}}", names.join(", "));
                }
                let range = |range: &(u64, u64)| match *range {
                    (first, last) if first == last => format!("{name} == {}", values.one(first)),
                    (0, last) => format!("{name} <= {}", number(last)),
                    (first, last) if last == max => format!("{name} >= {}", number(first)),
                    (first, last) => format!("{} <= {name} <= {}", number(first), number(last)),
                };
                ranges.iter().map(range).collect::<Vec<String>>().join(" or ")
            }
            ValueSet::Masked { mask, wanted } if *mask == max => {
                format!("{name} == {}", values.one(*wanted))
            }
            ValueSet::Masked { mask, wanted } => values.masked(name, *mask, "==", *wanted),
            ValueSet::NotMasked { mask, wanted } => values.masked(name, *mask, "!=", *wanted),
            ValueSet::Many(count) => format!("{name} is one of {count} values"),
        }
    }
}

impl Clause {
    /// The text of the conditions in one line, with the names of the arguments in this syscall if they are known.
    /// Values are numbers.
    pub fn describe(&self, syscall: Option<&str>) -> String {
        self.join(|condition| condition.describe(syscall))
    }

    /// Like [`describe`](Clause::describe), with the names of values and flags on this architecture.
    pub fn describe_on(&self, arch: Arch, syscall: Option<&str>) -> String {
        self.join(|condition| condition.describe_on(arch, syscall))
    }

    fn join(&self, describe: impl Fn(&ValueCondition) -> String) -> String {
        let parts: Vec<String> = self
            .conditions
            .iter()
            .map(|condition| {
                let text = describe(condition);
                let ambiguous = self.conditions.len() > 1 && text.contains(" or ");
                if ambiguous { format!("({text})") } else { text }
            })
            .collect();
        parts.join(" and ")
    }

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

/// Numbers less than 4096 in decimal, others in hexadecimal.
fn number(value: u64) -> String {
    if value < 4096 { value.to_string() } else { format!("{value:#x}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The text of `dfd == value` in a condition on `openat`.
    fn text(arch: Arch, part: ArgPart, value: u64) -> String {
        let values = ValueSet::Ranges(vec![(value, value)]);
        ValueCondition { arg: Some(0), part, values }.describe_on(arch, Some("openat"))
    }

    #[test]
    fn conditions_of_different_widths_have_different_texts() {
        let (wide, low) = (0xffff_ffff_ffff_ff9c, 0xffff_ff9c);
        assert_eq!(text(Arch::X86_64, ArgPart::Whole, wide), "dfd == AT_FDCWD");
        assert_eq!(text(Arch::X86_64, ArgPart::Whole, low), "dfd == 0xffffff9c");
        assert_eq!(text(Arch::X86_64, ArgPart::Low, low), "dfd.low == AT_FDCWD");
        assert_eq!(text(Arch::X86, ArgPart::Whole, low), "dfd == AT_FDCWD");
    }
}
