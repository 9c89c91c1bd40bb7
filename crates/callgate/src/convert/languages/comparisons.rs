//! Comparisons of libseccomp for a condition: at most one per argument in each rule.

use super::cubes;
use crate::convert::alternatives::Conjunction;
use crate::convert::error::Stop;
use crate::convert::limits::MAX_ALTERNATIVES;
use crate::explain::{ArgPart, ValueCondition, ValueSet};
use callgate_bpf::syscalls::Arch;
use callgate_bpf::verdict::Verdict;
use callgate_formats::ruleset::{Comparison, Op};

/// The rules of a syscall: verdicts, and the comparisons that must all hold.
pub(super) type Rules = Vec<(Verdict, Vec<Comparison>)>;

/// Why libseccomp has no comparison for a condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unsayable {
    /// It tests the instruction pointer.
    InstructionPointer,
    /// It tests the high half of an argument on a 32-bit ABI.
    HighHalf,
}

impl Unsayable {
    pub(super) fn why(self) -> &'static str {
        match self {
            Unsayable::InstructionPointer => "no condition can test the instruction pointer",
            Unsayable::HighHalf => {
                "on a 32-bit ABI no condition can test the high half of an argument"
            }
        }
    }
}

/// The rules, one of which must match, for alternatives on an architecture.
pub(super) fn rules(
    alternatives: &[Conjunction],
    arch: Arch,
) -> Result<Result<Vec<Vec<Comparison>>, Unsayable>, Stop> {
    let mut rules: Vec<Vec<Comparison>> = Vec::new();
    for all in alternatives {
        let mut own: Vec<Vec<Comparison>> = vec![Vec::new()];
        for arg in cubes::arguments(all) {
            let Some(arg) = arg else { return Ok(Err(Unsayable::InstructionPointer)) };
            let conditions: Vec<&ValueCondition> =
                all.iter().filter(|one| one.arg == Some(arg)).collect();
            let Some(sets) = of_argument(&conditions, arch) else {
                return Ok(Err(Unsayable::HighHalf));
            };
            let count = own.len().saturating_mul(sets.len());
            if count > MAX_ALTERNATIVES {
                return Err(Stop::TooMany(count));
            }
            let with = |rule: &Vec<Comparison>, (op, value): &(Op, u64)| {
                let comparison = Comparison::new(arg, *op, *value);
                rule.iter().copied().chain(comparison).collect()
            };
            own = own.iter().flat_map(|rule| sets.iter().map(move |set| with(rule, set))).collect();
        }
        rules.extend(own);
        if rules.len() > MAX_ALTERNATIVES {
            return Err(Stop::TooMany(rules.len()));
        }
    }
    rules.sort();
    rules.dedup();
    Ok(Ok(rules))
}

/// The comparisons, one of which must hold, for all conditions on an argument; `None` if the ABI has none.
fn of_argument(conditions: &[&ValueCondition], arch: Arch) -> Option<Vec<(Op, u64)>> {
    let full = if arch.is_64bit() { ArgPart::Whole } else { ArgPart::Low };
    let max = if arch.is_64bit() { u64::MAX } else { u64::from(u32::MAX) };
    match conditions {
        [ValueCondition { part, values: ValueSet::Ranges(ranges), .. }] if *part == full => {
            return Some(of_ranges(ranges, max));
        }
        _ => {}
    }
    let cubes = cubes::of_all(conditions.iter().copied());
    let fits = cubes.iter().all(|(mask, _)| mask & !max == 0);
    let one = |(mask, wanted): (u64, u64)| match mask {
        mask if mask == max => (Op::Eq, wanted),
        mask => (Op::MaskedEq(mask), wanted),
    };
    fits.then(|| cubes.into_iter().map(one).collect())
}

/// The largest number of values in a range that are compared one by one.
const MAX_SINGLE: u64 = 4;

/// The comparisons for ranges of values up to `max`.
fn of_ranges(ranges: &[(u64, u64)], max: u64) -> Vec<(Op, u64)> {
    match ranges {
        [(0, below), (above, last)] if *last == max && below + 2 == *above => {
            return vec![(Op::Ne, below + 1)];
        }
        [(1, last)] if *last == max => return vec![(Op::Ne, 0)],
        _ => {}
    }
    let bits = if max == u64::MAX { 64 } else { 32 };
    let mut found = Vec::new();
    for range in ranges {
        match *range {
            (first, last) if first == last => found.push((Op::Eq, first)),
            (0, last) => found.push((Op::Le, last)),
            (first, last) if last == max => found.push((Op::Ge, first)),
            (first, last) if last - first < MAX_SINGLE => {
                found.extend((first..=last).map(|value| (Op::Eq, value)));
            }
            range => {
                let cubes = cubes::of_range(range, bits);
                found.extend(cubes.into_iter().map(|(mask, wanted)| match mask {
                    mask if mask == max => (Op::Eq, wanted),
                    mask => (Op::MaskedEq(mask), wanted),
                }));
            }
        }
    }
    found
}

/// The low half of an argument.
const LOW: u64 = 0xffff_ffff;

/// The text of a comparison, with the names of the argument and its values.
pub(super) fn describe(comparison: &Comparison, arch: Arch, syscall: &str) -> String {
    let value = comparison.value();
    let (values, equals) = match comparison.op() {
        Op::Eq => (ValueSet::Ranges(vec![(value, value)]), "=="),
        Op::Ne => (ValueSet::Ranges(vec![(value, value)]), "!="),
        Op::Lt => (ValueSet::Ranges(vec![(0, value.saturating_sub(1))]), "=="),
        Op::Le => (ValueSet::Ranges(vec![(0, value)]), "=="),
        Op::Gt => (ValueSet::Ranges(vec![(value.saturating_add(1), u64::MAX)]), "=="),
        Op::Ge => (ValueSet::Ranges(vec![(value, u64::MAX)]), "=="),
        Op::MaskedEq(LOW) => (ValueSet::Ranges(vec![(value, value)]), "=="),
        Op::MaskedEq(mask) => (ValueSet::Masked { mask, wanted: value }, "=="),
    };
    let is_low = comparison.op() == Op::MaskedEq(LOW);
    let part = if is_low { ArgPart::Low } else { ArgPart::Whole };
    let condition = ValueCondition { arg: Some(comparison.arg()), part, values };
    condition.describe_on(arch, Some(syscall)).replacen("==", equals, 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(part: ArgPart, values: ValueSet, arch: Arch) -> Option<Vec<(Op, u64)>> {
        of_argument(&[&ValueCondition { arg: Some(0), part, values }], arch)
    }

    #[test]
    fn ranges_become_ordered_comparisons_where_one_suffices() {
        let ranges = |ranges: &[(u64, u64)]| of_ranges(ranges, u64::MAX);
        assert_eq!(ranges(&[(0, 39), (41, u64::MAX)]), [(Op::Ne, 40)]);
        assert_eq!(
            ranges(&[(0, 37), (39, 39), (41, u64::MAX)]),
            [(Op::Le, 37), (Op::Eq, 39), (Op::Ge, 41)]
        );
        assert_eq!(ranges(&[(8, 15)]), [(Op::MaskedEq(!7), 8)]);
        assert_eq!(ranges(&[(16, 17)]), [(Op::Eq, 16), (Op::Eq, 17)]);
    }

    #[test]
    fn a_low_half_is_masked_on_64_bits_and_plain_on_32() {
        let low = || ValueSet::Ranges(vec![(5, 5)]);
        let masked = Some(vec![(Op::MaskedEq(0xffff_ffff), 5)]);
        assert_eq!(of(ArgPart::Low, low(), Arch::X86_64), masked);
        assert_eq!(of(ArgPart::Low, low(), Arch::X86), Some(vec![(Op::Eq, 5)]));
        assert_eq!(of(ArgPart::High, low(), Arch::X86), None);
        assert_eq!(of(ArgPart::Whole, low(), Arch::X32), None);
    }
}
