//! Masks that separate two classes of intervals: each value of one class shares a bit with the mask, no value
//! of the other class does.
//!
//! The mask must not contain a bit that occurs in a value of the second class. More bits never hurt otherwise, so
//! no search is needed: the largest such mask contains all other bits, and if it does not separate the classes,
//! no mask does.

use super::interval::WeightedInterval;

/// A mask, the class of values that share a bit with it, and the class of the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct MaskTest {
    pub(super) mask: u32,
    pub(super) set: usize,
    pub(super) clear: usize,
}

/// The union of the bits of the values from `first` to `last`.
fn all_bits(first: u32, last: u32) -> u32 {
    match first ^ last {
        0 => first,
        // Each bit below the highest bit in which the bounds differ occurs in some value.
        differ => last | (u32::MAX >> differ.leading_zeros() >> 1),
    }
}

/// Whether each value from `first` to `last` shares a bit with the mask.
pub(super) fn all_share_a_bit(first: u32, last: u32, mask: u32) -> bool {
    let shared = first & mask;
    if shared == 0 {
        return false;
    }
    // The next value that shares no bit with the mask: a carry from the highest shared bit.
    let below = u32::MAX >> shared.leading_zeros();
    (first | mask | below).checked_add(1).is_none_or(|next| next & !mask > last)
}

/// The mask that separates the classes of intervals, if there are two classes and such a mask.
pub(super) fn mask_test<'a>(
    intervals: impl Iterator<Item = &'a WeightedInterval> + Clone,
) -> Option<MaskTest> {
    let a = intervals.clone().next()?.class;
    let b = intervals.clone().find(|interval| interval.class != a)?.class;
    if intervals.clone().any(|interval| interval.class != a && interval.class != b) {
        return None;
    }
    separating(intervals.clone(), a, b).or_else(|| separating(intervals, b, a))
}

fn separating<'a>(
    intervals: impl Iterator<Item = &'a WeightedInterval> + Clone,
    set: usize,
    clear: usize,
) -> Option<MaskTest> {
    let of = |class| {
        intervals.clone().filter(move |interval: &&WeightedInterval| interval.class == class)
    };
    let mask = !of(clear).fold(0, |bits, interval| bits | all_bits(interval.first, interval.last));
    if !of(set).all(|interval| all_share_a_bit(interval.first, interval.last, mask)) {
        return None;
    }
    // Leave out bits that do not occur.
    let mask =
        mask & of(set).fold(0, |bits, interval| bits | all_bits(interval.first, interval.last));
    Some(MaskTest { mask, set, clear })
}

/// The maximum number of single values that are tested before a mask.
const MAX_SINGLES: usize = 5;

/// The maximum number of single values of the class without bits of the mask.
const MAX_CLEAR_SINGLES: usize = 8;

/// A mask that separates the classes after equality tests of some single values, given by their indexes in
/// `intervals`. Prefers few of them.
pub(super) fn mask_after_singles(intervals: &[WeightedInterval]) -> Option<(Vec<usize>, MaskTest)> {
    let [a, b] = two_classes(intervals)?;
    let mut best: Option<(Vec<usize>, MaskTest)> = None;
    for (set, clear) in [(a, b), (b, a)] {
        let fewest = best.as_ref().map_or(MAX_SINGLES + 1, |(tested, _)| tested.len());
        if let Some(found) = mask_after_singles_of(intervals, set, clear, fewest) {
            best = Some(found);
        }
    }
    best
}

/// The length of the longest prefix of the intervals whose classes a mask could separate after equality tests of
/// all single values.
pub(super) fn max_length(intervals: &[WeightedInterval]) -> usize {
    let separable = |intervals: &[WeightedInterval]| {
        two_classes(intervals).is_none_or(|[a, b]| {
            [(a, b), (b, a)].into_iter().any(|(set, clear)| widest(intervals, set, clear).is_some())
        })
    };
    // If no mask separates a prefix, none separates a longer one.
    (1..=intervals.len())
        .take_while(|n| intervals[n - 1].is_single() || separable(&intervals[..*n]))
        .count()
}

/// The two classes of the intervals that are not single values, completed by the first classes of single values.
/// `None` if the former have more than two, or all have only one.
fn two_classes(intervals: &[WeightedInterval]) -> Option<[usize; 2]> {
    let mut classes: [Option<usize>; 2] = [None, None];
    let [a, b] = &mut classes;
    let (wide, single) = (
        intervals.iter().filter(|interval| !interval.is_single()),
        intervals.iter().filter(|interval| interval.is_single()),
    );
    for (interval, is_wide) in
        wide.map(|interval| (interval, true)).chain(single.map(|interval| (interval, false)))
    {
        if *a.get_or_insert(interval.class) != interval.class
            && *b.get_or_insert(interval.class) != interval.class
            && is_wide
        {
            return None;
        }
    }
    Some([(*a)?, (*b)?])
}

/// The largest mask that separates the intervals of two classes, single values left out.
fn widest(intervals: &[WeightedInterval], set: usize, clear: usize) -> Option<u32> {
    let wide = |class| {
        intervals.iter().filter(move |interval| interval.class == class && !interval.is_single())
    };
    let widest =
        !wide(clear).fold(0, |bits, interval| bits | all_bits(interval.first, interval.last));
    wide(set)
        .all(|interval| all_share_a_bit(interval.first, interval.last, widest))
        .then_some(widest)
}

/// As [`mask_after_singles`] for two classes, with fewer than `limit` single values.
fn mask_after_singles_of(
    intervals: &[WeightedInterval],
    set: usize,
    clear: usize,
    limit: usize,
) -> Option<(Vec<usize>, MaskTest)> {
    let wide = |class| {
        intervals.iter().filter(move |interval| interval.class == class && !interval.is_single())
    };
    let widest = widest(intervals, set, clear)?;
    let singles = |class| {
        intervals
            .iter()
            .enumerate()
            .filter(move |(_, interval)| interval.class == class && interval.is_single())
    };
    let clears: Vec<(usize, u32)> =
        singles(clear).map(|(at, interval)| (at, interval.first)).collect();
    if clears.len() > MAX_CLEAR_SINGLES {
        return None;
    }
    let others = intervals
        .iter()
        .enumerate()
        .filter(|(_, interval)| interval.class != set && interval.class != clear);
    let others: Vec<usize> = others.map(|(at, _)| at).collect();
    let mut best: Option<(Vec<usize>, MaskTest)> = None;
    // None, one or two of the values that must not share a bit are tested before.
    let n = clears.len();
    let pairs = (0..n).flat_map(|i| (i + 1..=n).map(move |j| [i, j]));
    for without in std::iter::once([n, n]).chain(pairs) {
        let fewest = best.as_ref().map_or(limit, |(tested, _)| tested.len());
        let kept = clears.iter().enumerate().filter(|(i, _)| !without.contains(i));
        let mask = kept.fold(widest, |mask, (_, (_, value))| mask & !value);
        if !wide(set).all(|interval| all_share_a_bit(interval.first, interval.last, mask)) {
            continue;
        }
        let mut tested = others.clone();
        tested.extend(without.iter().filter_map(|i| clears.get(*i)).map(|(at, _)| *at));
        tested.extend(
            singles(set).filter(|(_, interval)| interval.first & mask == 0).map(|(at, _)| at),
        );
        if tested.len() < fewest {
            let with_bit = intervals.iter().filter(|interval| interval.class == set);
            let mask = mask
                & with_bit.fold(0, |bits, interval| bits | all_bits(interval.first, interval.last));
            best = Some((tested, MaskTest { mask, set, clear }));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bits_of_an_interval_are_those_of_its_values() {
        for first in 0..64u32 {
            for last in first..64 {
                let values = first..=last;
                assert_eq!(all_bits(first, last), values.clone().fold(0, |bits, v| bits | v));
                for mask in 0..64 {
                    let each = values.clone().all(|value| value & mask != 0);
                    assert_eq!(
                        all_share_a_bit(first, last, mask),
                        each,
                        "{first} {last} {mask:#x}"
                    );
                }
            }
        }
        assert_eq!(all_bits(0, u32::MAX), u32::MAX);
        assert!(all_share_a_bit(1 << 31, u32::MAX, 1 << 31));
        assert!(!all_share_a_bit(u32::MAX - 1, u32::MAX, 1));
    }

    /// All assignments of eight values to two classes: a mask is found exactly if one of all masks
    /// separates them.
    #[test]
    fn a_mask_is_found_if_there_is_one() {
        for classes in 0..1u32 << 8 {
            let intervals: Vec<WeightedInterval> = (0..8)
                .map(|value| WeightedInterval {
                    first: value,
                    last: value,
                    class: (classes >> value & 1) as usize,
                    weight: 0.0,
                })
                .collect();
            let separates = |mask: u32, flip: usize| {
                intervals.iter().all(|interval| {
                    usize::from(interval.first & mask != 0) ^ flip == interval.class
                })
            };
            let exists = (1..8).any(|mask| separates(mask, 0) || separates(mask, 1));
            let found = mask_test(intervals.iter());
            assert_eq!(found.is_some(), exists, "{classes:#b}");
            if let Some(MaskTest { mask, set, .. }) = found {
                assert!(separates(mask, 1 - set), "{classes:#b} {mask:#b}");
            }
            if let Some((tested, MaskTest { mask, set, clear })) = mask_after_singles(&intervals) {
                for (at, interval) in
                    intervals.iter().enumerate().filter(|(at, _)| !tested.contains(at))
                {
                    let class = if interval.first & mask != 0 { set } else { clear };
                    assert_eq!(class, interval.class, "{at} {classes:#b} {mask:#b} {tested:?}");
                }
            }
        }
    }
}
