//! Comparisons of libseccomp for a condition: at most one per argument in each rule.

use super::alternatives::{Conjunction, arguments, cubes_of_all, cubes_of_range};
use super::error::{MAX_ALTERNATIVES, Stop};
use crate::ruleset::{Comparison, Op};
use callgate_codegen::query::{ArgPart, ValueCondition, ValueSet};
use callgate_core::{Arch, Verdict};

/// The rules of a syscall: verdicts, and the comparisons that must all hold.
pub(crate) type Rules = Vec<(Verdict, Vec<Comparison>)>;

/// What a language can say about arguments, and what becomes of a condition that it cannot say.
#[derive(Clone, Copy)]
pub(crate) struct Saying<'l> {
    pub(crate) arch: Arch,
    /// The largest number that all programs which read the language keep.
    pub(crate) max_number: u64,
    /// Why a comparison cannot be written; `None` if it can.
    pub(crate) unsayable: &'l dyn Fn(&Comparison) -> Option<&'static str>,
    /// Whether the rules apply to more than the condition then, because their verdict is stricter than the default action;
    /// otherwise they apply to less.
    pub(crate) widens: bool,
}

/// The rules for a condition, each with comparisons that must all hold, or for a function of the arguments.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Said<R = Vec<Vec<Comparison>>> {
    pub(crate) rules: R,
    /// Why they do not say all; `None` if they are exact.
    pub(crate) why: Option<&'static str>,
}

const INSTRUCTION_POINTER: &str = "no condition can test the instruction pointer";
const HIGH_HALF: &str = "on a 32-bit ABI no condition can test the high half of an argument";

/// The rules, one of which must match, for alternatives. Where they are too many with lists of values, masks are taken.
pub(crate) fn rules(alternatives: &[Conjunction], saying: &Saying<'_>) -> Result<Said, Stop> {
    match rules_with(alternatives, saying) {
        Err(Stop::TooMany(_)) if saying.max_number != u64::MAX => {
            rules_with(alternatives, &Saying { max_number: u64::MAX, ..*saying })
        }
        said => said,
    }
}

fn rules_with(alternatives: &[Conjunction], saying: &Saying<'_>) -> Result<Said, Stop> {
    let mut said = <Said>::default();
    for all in alternatives {
        let mut own: Vec<Vec<Comparison>> = vec![Vec::new()];
        for arg in arguments(all) {
            let conditions: Vec<&ValueCondition> =
                all.iter().filter(|one| one.arg == arg).collect();
            let sets = match arg {
                None => Err(INSTRUCTION_POINTER),
                Some(_) => of_argument(&conditions, saying).ok_or(HIGH_HALF),
            };
            let (sets, why) = match sets {
                Ok(sets) => sayable(arg.unwrap_or_default(), sets, saying),
                Err(why) => (Vec::new(), Some(why)),
            };
            said.why = said.why.or(why);
            if why.is_some() && saying.widens {
                continue;
            }
            let count = own.len().saturating_mul(sets.len());
            if count > MAX_ALTERNATIVES {
                return Err(Stop::TooMany(count));
            }
            let with = |rule: &Vec<Comparison>, comparison: &Comparison| {
                rule.iter().copied().chain([*comparison]).collect()
            };
            own = own.iter().flat_map(|rule| sets.iter().map(move |set| with(rule, set))).collect();
        }
        said.rules.extend(own);
        if said.rules.len() > MAX_ALTERNATIVES {
            return Err(Stop::TooMany(said.rules.len()));
        }
    }
    said.rules.sort();
    said.rules.dedup();
    Ok(said)
}

/// The comparisons that can be written, and why one of them cannot.
fn sayable(
    arg: u8,
    sets: Vec<(Op, u64)>,
    saying: &Saying<'_>,
) -> (Vec<Comparison>, Option<&'static str>) {
    let mut why = None;
    let mut all: Vec<Comparison> =
        sets.into_iter().filter_map(|(op, value)| Comparison::new(arg, op, value)).collect();
    all.retain(|one| {
        let reason = (saying.unsayable)(one);
        why = why.or(reason);
        reason.is_none()
    });
    (all, why)
}

/// The comparisons, one of which must hold, for all conditions on an argument; `None` if the ABI has none.
fn of_argument(conditions: &[&ValueCondition], saying: &Saying<'_>) -> Option<Vec<(Op, u64)>> {
    let arch = saying.arch;
    let full = if arch.is_64bit() { ArgPart::Whole } else { ArgPart::Low };
    let max = if arch.is_64bit() { u64::MAX } else { u64::from(u32::MAX) };
    match conditions {
        [ValueCondition { part, values: ValueSet::Ranges(ranges), .. }] if *part == full => {
            return Some(of_ranges(ranges, max, saying.max_number));
        }
        _ => {}
    }
    let cubes = cubes_of_all(conditions.iter().copied());
    let fits = cubes.iter().all(|(mask, _)| mask & !max == 0);
    let one = |(mask, wanted): (u64, u64)| match mask {
        mask if mask == max => (Op::Eq, wanted),
        mask => (Op::MaskedEq(mask), wanted),
    };
    fits.then(|| cubes.into_iter().map(one).collect())
}

/// The largest number of values in a range that are always compared one by one.
const MAX_SINGLE: u64 = 4;

/// The largest number of values in a range that are compared one by one to avoid masks above the largest number that all
/// readers keep.
const MAX_LISTED: u64 = 256;

/// The comparisons for ranges of values up to `max`. A list of values comes before a mask with a number above `max_number`.
fn of_ranges(ranges: &[(u64, u64)], max: u64, max_number: u64) -> Vec<(Op, u64)> {
    match ranges {
        [(0, below), (above, last)] if *last == max && below + 2 == *above => {
            return vec![(Op::Ne, below + 1)];
        }
        [(1, last)] if *last == max => return vec![(Op::Ne, 0)],
        _ => {}
    }
    let bits = if max == u64::MAX { 64 } else { 32 };
    // If all values with another high half are in the set, the masks of the others need not test it.
    let has_all_above = ranges.last().is_some_and(|last| last.0 <= LOW + 1 && last.1 == u64::MAX);
    let tested = if has_all_above { LOW } else { max };
    let mut found = Vec::new();
    for range in ranges {
        match *range {
            (first, last) if first == last => found.push((Op::Eq, first)),
            (0, last) => found.push((Op::Le, last)),
            // 32-bit ABIs compare the low half: `> 0xffffffff` never holds there, and `>= 0` always would.
            (first, last) if last == max && first & LOW == 0 => found.push((Op::Gt, first - 1)),
            (first, last) if last == max => found.push((Op::Ge, first)),
            (first, last) => {
                let cubes = cubes_of_range((first, last), bits);
                let of_cube = |(mask, wanted): (u64, u64)| match mask {
                    mask if mask == max => (Op::Eq, wanted),
                    mask => (Op::MaskedEq(mask & tested), wanted),
                };
                let found_masks: Vec<(Op, u64)> = cubes.into_iter().map(of_cube).collect();
                let is_large =
                    |(op, _): &(Op, u64)| matches!(op, Op::MaskedEq(mask) if *mask > max_number);
                let count = last - first + 1;
                if count <= MAX_SINGLE || count <= MAX_LISTED && found_masks.iter().any(is_large) {
                    found.extend((first..=last).map(|value| (Op::Eq, value)));
                } else {
                    found.extend(found_masks);
                }
            }
        }
    }
    found
}

/// The low half of an argument.
const LOW: u64 = 0xffff_ffff;

/// The text of a comparison, with the names of the argument and its values.
pub(crate) fn describe(comparison: &Comparison, arch: Arch, syscall: &str) -> String {
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
        let saying = Saying { arch, max_number: u64::MAX, unsayable: &|_| None, widens: false };
        of_argument(&[&ValueCondition { arg: Some(0), part, values }], &saying)
    }

    #[test]
    fn ranges_become_ordered_comparisons_where_one_suffices() {
        let ranges = |ranges: &[(u64, u64)]| of_ranges(ranges, u64::MAX, u64::MAX);
        assert_eq!(ranges(&[(0, 39), (41, u64::MAX)]), [(Op::Ne, 40)]);
        assert_eq!(
            ranges(&[(0, 37), (39, 39), (41, u64::MAX)]),
            [(Op::Le, 37), (Op::Eq, 39), (Op::Ge, 41)]
        );
        assert_eq!(ranges(&[(8, 15)]), [(Op::MaskedEq(!7), 8)]);
        assert_eq!(ranges(&[(16, 17)]), [(Op::Eq, 16), (Op::Eq, 17)]);
    }

    #[test]
    fn lists_come_before_masks_that_are_too_large() {
        let five = [(100, 104)];
        let values: Vec<(Op, u64)> = (100..=104).map(|value| (Op::Eq, value)).collect();
        assert_eq!(of_ranges(&five, u64::MAX, (1 << 53) - 1), values);
        assert_eq!(of_ranges(&five, u64::MAX, u64::MAX), [(Op::MaskedEq(!3), 100), (Op::Eq, 104)]);
        assert_eq!(of_ranges(&[(1, 1000)], u64::MAX, (1 << 53) - 1).len(), 15);
    }

    #[test]
    fn a_mask_need_not_test_a_high_half_that_decides_nothing() {
        let ranges = [(9, 24), (32, 39), (0x1_0000_0000, u64::MAX)];
        let found = of_ranges(&ranges, u64::MAX, u64::MAX);
        assert!(found.iter().all(|(op, _)| !matches!(op, Op::MaskedEq(mask) if *mask > LOW)));
        for value in (0..64u64).flat_map(|low| [low, 1 << 32 | low, u64::MAX << 40 | low]) {
            let holds = |(op, datum): &(Op, u64)| match op {
                Op::Eq => value == *datum,
                Op::Gt => value > *datum,
                Op::MaskedEq(mask) => value & mask == *datum,
                _ => panic!("{op:?}"),
            };
            let is_in = ranges.iter().any(|(first, last)| (*first..=*last).contains(&value));
            assert_eq!(found.iter().any(holds), is_in, "{value:#x}");
        }
    }

    /// A 32-bit ABI compares the low half, of which none is above 0xffffffff.
    #[test]
    fn high_values_never_match_on_32_bits() {
        let above = [(1 << 32, u64::MAX)];
        assert_eq!(of_ranges(&above, u64::MAX, u64::MAX), [(Op::Gt, LOW)]);
        assert_eq!(of_ranges(&[(5, u64::MAX)], u64::MAX, u64::MAX), [(Op::Ge, 5)]);
    }

    #[test]
    fn what_cannot_be_said_makes_rules_apply_to_less_or_to_more() {
        let one = |arg, values: &[u64]| ValueCondition {
            arg: Some(arg),
            part: ArgPart::Whole,
            values: ValueSet::Ranges(values.iter().map(|value| (*value, *value)).collect()),
        };
        let all = [vec![one(0, &[1]), one(1, &[2, 1 << 63])]];
        let unsayable: &dyn Fn(&Comparison) -> Option<&'static str> =
            &|one| (one.value() >> 63 == 1).then_some("large");
        let of = |widens| {
            let arch = Arch::X86_64;
            rules(&all, &Saying { arch, max_number: u64::MAX, unsayable, widens }).unwrap()
        };
        let eq = |arg, value| Comparison::new(arg, Op::Eq, value).unwrap();
        let why = Some("large");
        assert_eq!(of(false), Said { rules: vec![vec![eq(0, 1), eq(1, 2)]], why });
        assert_eq!(of(true), Said { rules: vec![vec![eq(0, 1)]], why });
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
