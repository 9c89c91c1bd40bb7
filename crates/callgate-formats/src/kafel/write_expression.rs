//! Expressions of Kafel for alternatives of conditions.

use callgate_bpf::SyscallTable;
use std::collections::{BTreeMap, BTreeSet};

use crate::convert::alternatives::Conjunction;
use crate::kafel::has_argument;
use callgate_bpf::constants::{self, Family};
use callgate_bpf::syscalls::facts;
use callgate_codegen::query::{ArgPart, ValueCondition, ValueSet};
use callgate_core::Arch;

/// An expression: alternatives, one of which must hold.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Expression {
    /// Names for the arguments, all with 64 bits; empty if the expression uses the syscall's own.
    pub(crate) parameters: String,
    pub(crate) alternatives: Vec<String>,
}

/// The low half of an argument.
const LOW: u64 = 0xffff_ffff;

/// The expression for alternatives; `None` if they test the instruction pointer. Constants that it uses are added to
/// `defines`, because Kafel itself does not know them.
pub(crate) fn expression(
    arch: Arch,
    syscall: Option<&str>,
    alternatives: &[Conjunction],
    arches: &[Arch],
    defines: &mut BTreeMap<String, u64>,
) -> Option<Expression> {
    let conditions = || alternatives.iter().flatten();
    if conditions().any(|one| one.arg.is_none()) {
        return None;
    }
    let indices: BTreeSet<u8> = conditions().filter_map(|one| one.arg).collect();
    let own: Option<BTreeMap<u8, Own>> =
        indices.iter().map(|index| Some((*index, own(arch, syscall?, *index)?))).collect();
    // The names of the policy itself stand for 64 bits, even of arguments that have 32.
    let fits = |own: &BTreeMap<u8, Own>| {
        conditions().all(|one| {
            let narrow = one.arg.and_then(|arg| own.get(&arg)).is_some_and(|own| own.is_narrow);
            !narrow || tests_low_half_only(one)
        })
    };
    let (names, parameters) = match own.filter(fits) {
        Some(own) => (own, String::new()),
        None => parameters(syscall, indices.last().copied().unwrap_or(0)),
    };
    let mut writer = Writer { arch, syscall, arches, names, defines };
    let one = |all: &Conjunction, writer: &mut Writer<'_>| {
        let parts: Vec<String> =
            all.iter().map(|condition| writer.condition(condition, all.len() > 1)).collect();
        parts.join(" && ")
    };
    let alternatives =
        alternatives.iter().flat_map(split).map(|all| one(&all, &mut writer)).collect();
    Some(Expression { parameters, alternatives })
}

/// How long the expression for alternatives is: the number of comparisons.
pub(crate) fn length(alternatives: &[Conjunction]) -> usize {
    let of_range = |(first, last): &(u64, u64)| match last - first {
        _ if *first == 0 || *last >= LOW => 1,
        rest if rest < MAX_SINGLE => rest as usize + 1,
        _ => 2,
    };
    let of_values = |condition: &ValueCondition| match &condition.values {
        ValueSet::Ranges(ranges) => ranges.iter().map(of_range).sum(),
        _ => 1,
    };
    alternatives.iter().flatten().map(of_values).sum()
}

/// The largest number of values in a range that are compared one by one.
const MAX_SINGLE: u64 = 4;

/// Ranges as alternatives of their own, where these are the only condition; small ranges as single values.
fn split(all: &Conjunction) -> Vec<Conjunction> {
    let [condition] = all.as_slice() else { return vec![all.clone()] };
    let ValueSet::Ranges(ranges) = &condition.values else { return vec![all.clone()] };
    let is_not = matches!(ranges.as_slice(), [(0, below), (above, _)] if below + 2 == *above);
    if is_not {
        return vec![all.clone()];
    }
    let singles = ranges.iter().flat_map(|(first, last)| match last - first {
        rest if rest < MAX_SINGLE => (*first..=*last).map(|value| (value, value)).collect(),
        _ => vec![(*first, *last)],
    });
    let one =
        |range| vec![ValueCondition { values: ValueSet::Ranges(vec![range]), ..condition.clone() }];
    singles.map(one).collect()
}

/// An argument by name.
struct Own {
    name: String,
    /// Whether comparisons ignore the high half.
    is_narrow: bool,
}

/// The syscall's own name of an argument, if Kafel's tables have the same.
fn own(arch: Arch, syscall: &str, index: u8) -> Option<Own> {
    let mut known = facts(syscall)?.args.iter().filter(|known| has_argument(syscall, known.name));
    let found = known.find_map(|known| {
        let argument = arch.argument(syscall, known.name).ok()?;
        (argument.index == index).then_some((known.name, argument.bits))
    });
    let (name, bits) = found?;
    is_free(name).then(|| Own { name: name.to_owned(), is_narrow: bits == Some(32) })
}

/// Names for the arguments up to an index.
fn parameters(syscall: Option<&str>, last: u8) -> (BTreeMap<u8, Own>, String) {
    let known = syscall.and_then(facts).map(|facts| facts.args).unwrap_or_default();
    let mut names = BTreeMap::new();
    for index in 0..=last {
        let name = known.get(usize::from(index)).map(|arg| arg.name).filter(|name| is_free(name));
        let name = name.map_or_else(|| format!("arg{index}"), str::to_owned);
        // A syscall may have `arg2` at another place.
        let is_taken =
            known.iter().enumerate().any(|(at, arg)| at != usize::from(index) && arg.name == name);
        let name = if is_taken { format!("argument{index}") } else { name };
        names.insert(index, Own { name, is_narrow: false });
    }
    let all: Vec<&str> = names.values().map(|own| own.name.as_str()).collect();
    let text = format!("({})", all.join(", "));
    (names, text)
}

/// Whether a name is an identifier that no constant has.
fn is_free(name: &str) -> bool {
    let is_word = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    is_word && name.starts_with(|c: char| c.is_ascii_lowercase()) && name != "define"
}

/// Whether a condition depends on the low half of the argument only.
fn tests_low_half_only(condition: &ValueCondition) -> bool {
    match (condition.part, &condition.values) {
        (ArgPart::Low, _) => true,
        (ArgPart::Whole, ValueSet::Masked { mask, .. } | ValueSet::NotMasked { mask, .. }) => {
            mask & !LOW == 0
        }
        _ => false,
    }
}

struct Writer<'w> {
    arch: Arch,
    syscall: Option<&'w str>,
    arches: &'w [Arch],
    names: BTreeMap<u8, Own>,
    defines: &'w mut BTreeMap<String, u64>,
}

impl Writer<'_> {
    /// The text of a condition; in parentheses if it has several parts and is one of several conditions.
    fn condition(&mut self, condition: &ValueCondition, is_one_of_many: bool) -> String {
        let Some(own) = condition.arg.and_then(|arg| self.names.get(&arg)) else {
            return String::new();
        };
        let (name, is_narrow) = (own.name.clone(), own.is_narrow);
        let (operand, shift, max) = match condition.part {
            ArgPart::Whole => (name.clone(), 0, u64::MAX),
            ArgPart::Low if is_narrow => (name.clone(), 0, LOW),
            ArgPart::Low => (format!("({name} & {LOW:#x})"), 0, LOW),
            ArgPart::High => (format!("({name} & {:#x})", LOW << 32), 32, LOW),
        };
        match &condition.values {
            ValueSet::Ranges(ranges) => {
                let is_equal = |(first, last): &(u64, u64)| first == last;
                if let [(0, below), (above, last)] = ranges.as_slice() {
                    if *last == max && below + 2 == *above {
                        let value = self.value(condition, (below + 1) << shift);
                        return format!("{operand} != {value}");
                    }
                }
                let several = ranges.len() > 1;
                let parts: Vec<String> = ranges
                    .iter()
                    .map(|range| {
                        let (first, last) = (range.0 << shift, range.1 << shift);
                        match *range {
                            _ if is_equal(range) => {
                                format!("{operand} == {}", self.value(condition, first))
                            }
                            (0, _) => format!("{operand} <= {}", number(last)),
                            (_, last) if last == max => format!("{operand} >= {}", number(first)),
                            _ => {
                                let both = format!(
                                    "{operand} >= {} && {operand} <= {}",
                                    number(first),
                                    number(last)
                                );
                                if several { format!("({both})") } else { both }
                            }
                        }
                    })
                    .collect();
                let text = parts.join(" || ");
                if several && is_one_of_many { format!("({text})") } else { text }
            }
            ValueSet::Masked { mask, wanted } => {
                self.masked(condition, &name, (mask << shift, wanted << shift), "==")
            }
            ValueSet::NotMasked { mask, wanted } => {
                self.masked(condition, &name, (mask << shift, wanted << shift), "!=")
            }
            // The alternatives have no such sets.
            ValueSet::Many(_) => String::new(),
        }
    }

    fn masked(
        &mut self,
        condition: &ValueCondition,
        name: &str,
        (mask, wanted): (u64, u64),
        relation: &str,
    ) -> String {
        if mask == u64::MAX {
            return format!("{name} {relation} {}", self.value(condition, wanted));
        }
        let family = self.family(condition);
        let tested = family.and_then(|family| family.name_mask(self.arch, mask));
        let given = family.and_then(|family| family.name_masked(self.arch, mask, wanted));
        let tested = self.named(tested, mask).unwrap_or_else(|| format!("{mask:#x}"));
        let given = self.named(given, wanted).unwrap_or_else(|| number(wanted));
        format!("({name} & {tested}) {relation} {given}")
    }

    /// A value that an argument is compared with.
    fn value(&mut self, condition: &ValueCondition, value: u64) -> String {
        let name = self.family(condition).and_then(|family| family.name(self.arch, value));
        self.named(name, value).unwrap_or_else(|| number(value))
    }

    fn family(&self, condition: &ValueCondition) -> Option<Family> {
        Family::of(
            self.arch,
            self.syscall?,
            condition.arg.filter(|_| condition.part != ArgPart::High)?,
        )
    }

    /// The names of constants, after they are defined; `None` if they differ between the architectures.
    fn named(&mut self, names: Option<String>, value: u64) -> Option<String> {
        let names = names?;
        let parts: Vec<&str> = names.split('|').collect();
        let mut values = Vec::new();
        for name in &parts {
            let own = constants::value(self.arch, name)?;
            let same = |arch: &Arch| constants::value(*arch, name).is_none_or(|other| other == own);
            if !self.arches.iter().all(same) {
                return None;
            }
            values.push(own);
        }
        if values.iter().fold(0, |all, value| all | value) != value {
            return None;
        }
        for (name, own) in parts.iter().zip(values) {
            self.defines.insert((*name).to_owned(), own);
        }
        match parts.as_slice() {
            [one] => Some((*one).to_owned()),
            parts => Some(format!("({})", parts.join(" | "))),
        }
    }
}

/// Numbers less than 4096 in decimal, others in hexadecimal.
fn number(value: u64) -> String {
    if value < 4096 { value.to_string() } else { format!("{value:#x}") }
}
