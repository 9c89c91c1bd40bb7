//! What languages for one architecture have in common: conditions as alternatives of comparisons that must all hold, where several
//! comparisons of an argument can be combined.

use std::collections::BTreeSet;

use super::alternatives::{Conjunction, cubes_of};
use super::error::{ConvertError, MAX_ALTERNATIVES, Result, Stop};
use super::fit::Fit;
use callgate_bpf::SyscallTable;
use callgate_codegen::query::{ArgPart, ValueCondition, ValueSet};
use callgate_core::{Arch, Verdict};

/// The low half of an argument.
const LOW: u64 = 0xffff_ffff;

/// A comparison of an argument with a constant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Atom {
    /// The index of the argument; `None` is the instruction pointer.
    pub(crate) arg: Option<u8>,
    /// Whether only the low 32 bits are compared.
    pub(crate) is_low: bool,
    pub(crate) test: AtomTest,
}

/// What is compared, as unsigned numbers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum AtomTest {
    Eq(u64),
    Ne(u64),
    Le(u64),
    Ge(u64),
    /// The bits of the mask have this value.
    Masked {
        mask: u64,
        wanted: u64,
    },
}

impl Atom {
    /// The text of the comparison, with the names of the argument and its values.
    pub(crate) fn describe(&self, arch: Arch, syscall: &str) -> String {
        let max = if self.is_low { LOW } else { u64::MAX };
        let values = match self.test {
            AtomTest::Eq(value) => ValueSet::Ranges(vec![(value, value)]),
            AtomTest::Ne(value) => {
                let below = value.checked_sub(1).map(|below| (0, below));
                let above = value.checked_add(1).filter(|above| *above <= max);
                ValueSet::Ranges(below.into_iter().chain(above.map(|above| (above, max))).collect())
            }
            AtomTest::Le(most) => ValueSet::Ranges(vec![(0, most)]),
            AtomTest::Ge(least) => ValueSet::Ranges(vec![(least, max)]),
            AtomTest::Masked { mask, wanted } => ValueSet::Masked { mask, wanted },
        };
        let part = if self.is_low { ArgPart::Low } else { ArgPart::Whole };
        ValueCondition { arg: self.arg, part, values }.describe_on(arch, Some(syscall))
    }
}

/// Whether a language compares the low half of an argument with `<=` and `>=`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LowHalf {
    /// It does.
    Ordered,
    /// It only compares bits.
    Masked,
}

/// The alternatives of a condition, each a list of comparisons.
pub(crate) fn atoms(alternatives: &[Conjunction], low: LowHalf) -> Result<Vec<Vec<Atom>>, Stop> {
    let mut found: Vec<Vec<Atom>> = Vec::new();
    for all in alternatives {
        let mut own: Vec<Vec<Atom>> = vec![Vec::new()];
        for condition in all {
            let choices = of_condition(condition, low);
            let count = own.len().saturating_mul(choices.len());
            if count > MAX_ALTERNATIVES {
                return Err(Stop::TooMany(count));
            }
            let with = |before: &Vec<Atom>, more: &Vec<Atom>| {
                before.iter().chain(more).copied().collect::<Vec<Atom>>()
            };
            own = own
                .iter()
                .flat_map(|before| choices.iter().map(move |more| with(before, more)))
                .collect();
        }
        found.extend(own);
        if found.len() > MAX_ALTERNATIVES {
            return Err(Stop::TooMany(found.len()));
        }
    }
    found.sort();
    found.dedup();
    Ok(found)
}

/// The largest number of values in a range that are compared one by one.
const MAX_SINGLE: u64 = 4;

/// The alternatives of one condition.
fn of_condition(condition: &ValueCondition, low: LowHalf) -> Vec<Vec<Atom>> {
    let atom = |test| Atom { arg: condition.arg, is_low: false, test };
    match (condition.part, &condition.values) {
        (ArgPart::Whole, ValueSet::Ranges(ranges)) => of_ranges(ranges, u64::MAX, &atom),
        (ArgPart::Low, ValueSet::Ranges(ranges)) if low == LowHalf::Ordered => {
            of_ranges(ranges, LOW, &|test| Atom { is_low: true, ..atom(test) })
        }
        (ArgPart::High, ValueSet::Ranges(ranges)) => {
            let whole: Vec<(u64, u64)> =
                ranges.iter().map(|(first, last)| (first << 32, last << 32 | LOW)).collect();
            of_ranges(&whole, u64::MAX, &atom)
        }
        _ => {
            let cubes = cubes_of(condition);
            let one = |(mask, wanted)| vec![atom(AtomTest::Masked { mask, wanted })];
            cubes.into_iter().map(one).collect()
        }
    }
}

/// The alternatives for ranges of values up to `max`.
fn of_ranges(ranges: &[(u64, u64)], max: u64, atom: &impl Fn(AtomTest) -> Atom) -> Vec<Vec<Atom>> {
    if let [(0, below), (above, last)] = ranges {
        if *last == max && below + 2 == *above {
            return vec![vec![atom(AtomTest::Ne(below + 1))]];
        }
    }
    let mut found = Vec::new();
    for (first, last) in ranges.iter().copied() {
        match (first, last) {
            (first, last) if first == last => found.push(vec![atom(AtomTest::Eq(first))]),
            (0, last) if last == max => found.push(Vec::new()),
            (1, last) if last == max => found.push(vec![atom(AtomTest::Ne(0))]),
            (0, last) => found.push(vec![atom(AtomTest::Le(last))]),
            (first, last) if last == max => found.push(vec![atom(AtomTest::Ge(first))]),
            (first, last) if last - first < MAX_SINGLE => {
                found.extend((first..=last).map(|value| vec![atom(AtomTest::Eq(value))]));
            }
            (first, last) => {
                found.push(vec![atom(AtomTest::Ge(first)), atom(AtomTest::Le(last))]);
            }
        }
    }
    found
}

/// Restricts a filter to its main architecture, which is returned.
pub(crate) fn fit_arch(fit: &mut Fit<'_>, target: &str, arches: &[Arch]) -> Result<Arch> {
    let main = fit.arches.first().copied();
    let Some(arch) = main.filter(|arch| arches.contains(arch)) else {
        let name = main.map_or("this machine", Arch::name);
        let why = format!("{target} has no filters for {name}");
        return Err(ConvertError::unsupported(why));
    };
    fit.arches.truncate(1);
    Ok(arch)
}

/// The syscalls of an architecture, ordered by name.
pub(crate) fn by_name(arch: Arch) -> Vec<(&'static str, u32)> {
    let named: BTreeSet<(&'static str, u32)> =
        arch.syscalls().map(|(nr, name)| (name, nr)).collect();
    named.into_iter().collect()
}

/// The alternatives for which a syscall has a verdict.
pub(crate) fn alternatives_of(
    fit: &mut Fit<'_>,
    (arch, name, nr): (Arch, &str, u32),
    verdict: Verdict,
    low: LowHalf,
) -> Result<Vec<Vec<Atom>>> {
    let func = fit.syscall(arch.token(), nr);
    let found = fit.alternatives(func, verdict).and_then(|all| atoms(&all, low));
    found.map_err(|stop| ConvertError::of_syscall(stop, || format!("{name} ({arch})")))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn holds(atom: &Atom, value: u64) -> bool {
        let value = if atom.is_low { value & LOW } else { value };
        match atom.test {
            AtomTest::Eq(wanted) => value == wanted,
            AtomTest::Ne(wanted) => value != wanted,
            AtomTest::Le(most) => value <= most,
            AtomTest::Ge(least) => value >= least,
            AtomTest::Masked { mask, wanted } => value & mask == wanted,
        }
    }

    fn wanted(part: ArgPart, values: &ValueSet, value: u64) -> bool {
        let value = match part {
            ArgPart::Whole => value,
            ArgPart::Low => value & LOW,
            ArgPart::High => value >> 32,
        };
        match values {
            ValueSet::Ranges(ranges) => {
                ranges.iter().any(|(first, last)| (*first..=*last).contains(&value))
            }
            ValueSet::Masked { mask, wanted } => value & mask == *wanted,
            ValueSet::NotMasked { mask, wanted } => value & mask != *wanted,
            ValueSet::Compared { .. } | ValueSet::Many(_) => false,
        }
    }

    #[test]
    fn the_alternatives_hold_for_the_values_of_the_condition() {
        let sets = [
            ValueSet::Ranges(vec![(0, 0)]),
            ValueSet::Ranges(vec![(1, u64::from(u32::MAX))]),
            ValueSet::Ranges(vec![(0, 4), (6, u64::from(u32::MAX))]),
            ValueSet::Ranges(vec![(2, 4), (9, 40), (77, 77)]),
            ValueSet::Masked { mask: 0xf0, wanted: 0x50 },
            ValueSet::NotMasked { mask: 6, wanted: 4 },
        ];
        let small = (0..100).chain([0xffff_fff0, LOW]);
        let values: Vec<u64> =
            small.clone().flat_map(|low| [low, low << 32, low << 32 | 5]).collect();
        for part in [ArgPart::Whole, ArgPart::Low, ArgPart::High] {
            for set in &sets {
                for low in [LowHalf::Ordered, LowHalf::Masked] {
                    let condition = ValueCondition { arg: Some(0), part, values: set.clone() };
                    let found = atoms(&[vec![condition]], low).unwrap();
                    let is_masked = |atom: &Atom| !atom.is_low;
                    assert!(low == LowHalf::Ordered || found.iter().flatten().all(is_masked));
                    for value in &values {
                        let own =
                            found.iter().any(|all| all.iter().all(|atom| holds(atom, *value)));
                        assert_eq!(own, wanted(part, set, *value), "{part:?} {set:?} {value:#x}");
                    }
                }
            }
        }
    }

    #[test]
    fn too_many_alternatives_are_an_error() {
        let odd: Vec<(u64, u64)> = (0..100).map(|value| (2 * value, 2 * value)).collect();
        let one = |arg| ValueCondition {
            arg: Some(arg),
            part: ArgPart::Whole,
            values: ValueSet::Ranges(odd.clone()),
        };
        assert_eq!(atoms(&[vec![one(0), one(1)]], LowHalf::Ordered), Err(Stop::TooMany(10_000)));
    }
}
