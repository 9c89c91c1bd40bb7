//! Sets of values as cubes: values with `value & mask == wanted`.

use crate::convert::alternatives::Conjunction;
use callgate_codegen::query::{ArgPart, ValueCondition, ValueSet};

/// A mask and the required value of its bits.
pub(crate) type Bits = (u64, u64);

/// The cubes of a range of values below `2^bits`.
pub(crate) fn of_range((first, last): (u64, u64), bits: u32) -> Vec<Bits> {
    let all = if bits == 64 { u64::MAX } else { (1 << bits) - 1 };
    let mut cubes = Vec::new();
    let mut at = first;
    loop {
        // The largest aligned block that begins here and does not exceed the range.
        let mut low = 0;
        for size in 0..=bits {
            let free = u64::MAX.checked_shr(64 - size).unwrap_or(0);
            if at & free == 0 && at | free <= last {
                low = free;
            }
        }
        cubes.push((all & !low, at));
        match (at | low).checked_add(1).filter(|next| *next <= last) {
            Some(next) => at = next,
            None => return cubes,
        }
    }
}

/// The cubes of the values of a condition on the whole argument, on one half only, as bits of 64.
pub(crate) fn of_condition(condition: &ValueCondition) -> Vec<Bits> {
    let (bits, shift) = match condition.part {
        ArgPart::Whole => (64, 0),
        ArgPart::Low => (32, 0),
        ArgPart::High => (32, 32),
    };
    let cubes = match &condition.values {
        ValueSet::Ranges(ranges) => {
            ranges.iter().flat_map(|range| of_range(*range, bits)).collect()
        }
        ValueSet::Masked { mask, wanted } => vec![(*mask, *wanted)],
        ValueSet::NotMasked { mask, wanted } => {
            bits_of(*mask).map(|bit| (bit, !wanted & bit)).collect()
        }
        ValueSet::Many(_) => Vec::new(),
    };
    cubes.into_iter().map(|(mask, wanted)| (mask << shift, wanted << shift)).collect()
}

/// The single bits of a mask.
pub(crate) fn bits_of(mask: u64) -> impl Iterator<Item = u64> {
    (0..64).map(|bit| 1 << bit).filter(move |bit| mask & bit != 0)
}

/// The cubes of the conditions on one argument, all of which must hold.
pub(crate) fn of_all<'c>(conditions: impl IntoIterator<Item = &'c ValueCondition>) -> Vec<Bits> {
    let mut all: Vec<Bits> = vec![(0, 0)];
    for condition in conditions {
        let own = of_condition(condition);
        let both = |(a, x): &Bits, (b, y): &Bits| {
            let agree = x & b == y & a;
            agree.then_some((a | b, x | y))
        };
        all = all.iter().flat_map(|a| own.iter().filter_map(move |b| both(a, b))).collect();
    }
    all
}

/// The arguments that a conjunction tests, each once, in order; `None` is the instruction pointer.
pub(crate) fn arguments(all: &Conjunction) -> Vec<Option<u8>> {
    let mut arguments: Vec<Option<u8>> = all.iter().map(|one| one.arg).collect();
    arguments.sort_unstable();
    arguments.dedup();
    arguments
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cubes_of_a_range_are_its_values() {
        for first in 0..32 {
            for last in first..32 {
                let cubes = of_range((first, last), 5);
                for value in 0..32u64 {
                    let inside =
                        cubes.iter().filter(|(mask, wanted)| value & mask == *wanted).count();
                    assert_eq!(
                        inside,
                        usize::from((first..=last).contains(&value)),
                        "{first} {last}"
                    );
                }
            }
        }
        assert_eq!(of_range((0, u64::MAX), 64), [(0, 0)]);
        assert_eq!(of_range((5, 5), 64), [(u64::MAX, 5)]);
        assert_eq!(of_range((1, u64::MAX), 64).len(), 64);
    }

    #[test]
    fn cubes_of_both_halves_are_joined_and_contradictions_dropped() {
        let one = |part, values| ValueCondition { arg: Some(0), part, values };
        let high = one(ArgPart::High, ValueSet::Ranges(vec![(0, 0)]));
        let low = one(ArgPart::Low, ValueSet::Masked { mask: 3, wanted: 1 });
        assert_eq!(of_all([&high, &low]), [(0xffff_ffff_0000_0003, 1)]);
        let not = one(ArgPart::Whole, ValueSet::NotMasked { mask: 6, wanted: 2 });
        assert_eq!(of_all([&not]), [(2, 0), (4, 4)]);
        let odd = one(ArgPart::Whole, ValueSet::Masked { mask: 1, wanted: 0 });
        assert_eq!(of_all([&low, &odd]), []);
    }
}
