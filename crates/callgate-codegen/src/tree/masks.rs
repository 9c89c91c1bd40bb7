//! Masks that separate two classes of intervals: each value of one class shares a bit with the mask, no value
//! of the other class does.
//!
//! The mask must not contain a bit that occurs in a value of the second class. More bits never hurt otherwise, so
//! no search is needed: the largest such mask contains all other bits, and if it does not separate the classes,
//! no mask does.

use super::node::{MaskTest, WeightedInterval};

/// The union of the bits of the values from `first` to `last`.
pub(super) fn all_bits(first: u32, last: u32) -> u32 {
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

/// Whether some intervals have one class, or a mask, if it is allowed, separates their two classes. If so, this also holds for
/// fewer of them. `bits` has those of each interval.
pub(super) fn is_separable(part: &[WeightedInterval], bits: &[u32], masks: bool) -> bool {
    let Some(first) = part.first() else { return false };
    let (mut other, mut of_first, mut of_other) = (None, 0, 0);
    for (interval, bits) in part.iter().zip(bits) {
        if interval.class == first.class {
            of_first |= bits;
        } else if *other.get_or_insert(interval.class) == interval.class {
            of_other |= bits;
        } else {
            return false;
        }
    }
    // Each value of one class shares a bit with the largest mask without bits of the other class.
    let (mut is_first, mut is_other) = (masks, masks);
    let is_kept = |interval: &WeightedInterval| {
        let shares = |mask| match interval.is_single() {
            true => interval.first & mask != 0,
            false => all_share_a_bit(interval.first, interval.last, mask),
        };
        match interval.class == first.class {
            true => is_first = is_first && shares(!of_other),
            false => is_other = is_other && shares(!of_first),
        }
        is_first || is_other
    };
    other.is_none() || part.iter().all(is_kept)
}

/// The mask that separates the classes of intervals, if there are two classes and such a mask.
pub(crate) fn mask_test<'a>(
    intervals: impl Iterator<Item = &'a WeightedInterval> + Clone,
) -> Option<MaskTest> {
    let (mut classes, mut bits) = ([None; 2], [0; 2]);
    for interval in intervals.clone() {
        let all = all_bits(interval.first, interval.last);
        bits[index_of(interval.class, &mut classes)?] |= all;
    }
    let [a, b] = [classes[0]?, classes[1]?];
    let separates = |set: usize, mask: u32| {
        let mut of_set = intervals.clone().filter(|interval| interval.class == set);
        of_set.all(|interval| all_share_a_bit(interval.first, interval.last, mask))
    };
    // Leave out bits that do not occur.
    if separates(a, !bits[1]) {
        Some(MaskTest { mask: !bits[1] & bits[0], set: a, clear: b })
    } else if separates(b, !bits[0]) {
        Some(MaskTest { mask: !bits[0] & bits[1], set: b, clear: a })
    } else {
        None
    }
}

/// The index of a class among the first two classes; `None` if it is another one.
fn index_of(class: usize, classes: &mut [Option<usize>; 2]) -> Option<usize> {
    classes.iter_mut().position(|known| *known.get_or_insert(class) == class)
}

/// The maximum number of single values that are tested before a mask.
pub(super) const MAX_SINGLES: u32 = 5;

/// The maximum number of single values of the class without bits of the mask.
const MAX_CLEAR_SINGLES: u32 = 8;

/// A mask that separates two classes after equality tests of at most `most` single values, and the set of the indexes of
/// these values in `intervals`. Finds the minimum number of single values. There are at most 16 intervals.
///
/// That minimum does not decrease if intervals are added.
pub(super) fn mask_after_singles(
    intervals: &[WeightedInterval],
    [a, b]: [usize; 2],
    most: u32,
) -> Option<(u16, MaskTest)> {
    let first = mask_after_singles_of(intervals, a, b, most);
    let fewer = match &first {
        Some((0, _)) => return first,
        Some((tested, _)) => tested.count_ones() - 1,
        None => most,
    };
    mask_after_singles_of(intervals, b, a, fewer).or(first)
}

/// The two classes of the intervals that are not single values, completed by the first classes of single values.
#[derive(Clone, Copy, Default)]
pub(super) struct MaskClasses {
    wide: [Option<usize>; 2],
    single: [Option<usize>; 2],
    too_many: bool,
}

impl MaskClasses {
    pub(super) fn add(&mut self, interval: &WeightedInterval) {
        if interval.is_single() {
            index_of(interval.class, &mut self.single);
        } else {
            self.too_many |= index_of(interval.class, &mut self.wide).is_none();
        }
    }

    /// `None` if the intervals that are not single values have more than two classes, or all intervals have only one.
    pub(super) fn get(&self) -> Option<[usize; 2]> {
        let mut classes = self.wide;
        for class in self.single.into_iter().flatten() {
            index_of(class, &mut classes);
        }
        Some([classes[0]?, classes[1]?]).filter(|_| !self.too_many)
    }
}

/// As [`MaskClasses`].
pub(super) fn two_classes(intervals: &[WeightedInterval]) -> Option<[usize; 2]> {
    let mut classes = MaskClasses::default();
    intervals.iter().for_each(|interval| classes.add(interval));
    classes.get()
}

/// As [`mask_after_singles`] for two classes.
fn mask_after_singles_of(
    intervals: &[WeightedInterval],
    set: usize,
    clear: usize,
    mut most: u32,
) -> Option<(u16, MaskTest)> {
    // The single values of each class, the other intervals of the class `set`, and the largest mask for the others.
    let (mut sets, mut wides, mut clears, mut others) = (0_u16, 0_u16, 0_u16, 0_u16);
    let mut widest = u32::MAX;
    // The bits that at least one, two and three single values of the class `clear` have.
    let (mut in_one, mut in_two, mut in_three) = (0, 0, 0);
    let mut own = 1;
    for interval in intervals {
        match interval.is_single() {
            true if interval.class == set => sets |= own,
            true if interval.class != clear => others |= own,
            true => {
                clears |= own;
                in_three |= in_two & interval.first;
                in_two |= in_one & interval.first;
                in_one |= interval.first;
            }
            false if interval.class == set => wides |= own,
            false if interval.class == clear => {
                widest &= !all_bits(interval.first, interval.last);
            }
            false => {}
        }
        own <<= 1;
    }
    // The members that share no bit with a mask, or have a value that does not.
    let without_bit = |of: u16, mask: u32| {
        let without_bit = members(of).filter(move |at| {
            let interval = &intervals[*at];
            !all_share_a_bit(interval.first, interval.last, mask)
        });
        without_bit.fold(0_u16, |set, at| set | 1 << at)
    };
    // At most two of the values that must not share a bit are tested before, so bits of three are in no mask.
    let largest = widest & !in_three;
    if clears.count_ones() > MAX_CLEAR_SINGLES
        || without_bit(wides, largest) != 0
        || (others | without_bit(sets, largest)).count_ones() > most
    {
        return None;
    }
    // Larger masks only have to be compared for intervals that share no bit with the smallest one.
    let smallest = widest & !in_one;
    let (wides, sets) = (without_bit(wides, smallest), without_bit(sets, smallest));
    // Only these have bits that a mask gains without them.
    let helpful = members(clears).filter(|at| intervals[*at].first & largest != 0);
    let clears = helpful.fold(0, |set, at| set | 1 << at);
    let mut best = None;
    // None, one or two of the values that must not share a bit are tested before.
    for without in at_most_two_of(clears) {
        let before = others | without;
        if before.count_ones() > most {
            continue;
        }
        let (mut all, mut both) = (0, 0);
        for at in members(without) {
            both |= all & intervals[at].first;
            all |= intervals[at].first;
        }
        let freed = widest & (all & !in_two | both & !in_three);
        if freed == 0 && without != 0 {
            continue;
        }
        let mask = smallest | freed;
        if without_bit(wides, mask) != 0 {
            continue;
        }
        let tested = before | without_bit(sets, mask);
        if tested.count_ones() > most {
            continue;
        }
        best = Some((tested, mask));
        // Only the other classes are always tested.
        match tested.count_ones().checked_sub(1) {
            Some(fewer) if fewer >= others.count_ones() => most = fewer,
            _ => break,
        }
    }
    let (tested, mask) = best?;
    // Leave out bits that do not occur.
    let mask = mask & bits_of(intervals, set);
    Some((tested, MaskTest { mask, set, clear }))
}

/// The members of a set, in order.
pub(super) fn members(mut set: u16) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let first = set.trailing_zeros();
        set &= set.checked_sub(1)?;
        Some(first as usize)
    })
}

/// The subsets with at most two members: the empty one, then by the first member; those with only that member last.
fn at_most_two_of(set: u16) -> impl Iterator<Item = u16> {
    let later = move |first: usize| members(set & (u16::MAX << first << 1)).map(|at| 1 << at);
    let from = move |first| later(first).chain([0]).map(move |second: u16| 1 << first | second);
    std::iter::once(0).chain(members(set).flat_map(from))
}

/// The union of the bits of all values of a class.
fn bits_of(intervals: &[WeightedInterval], class: usize) -> u32 {
    let of_class = intervals.iter().filter(|interval| interval.class == class);
    of_class.fold(0, |bits, interval| bits | all_bits(interval.first, interval.last))
}

/// The maximum number of intervals for which a mask is searched.
pub(super) const MAX_MASKED: usize = 14;

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

    fn after_singles(intervals: &[WeightedInterval]) -> Option<(u16, MaskTest)> {
        mask_after_singles(intervals, two_classes(intervals)?, MAX_SINGLES)
    }

    /// All assignments of eight values to three classes, the last of which has only single values.
    #[test]
    fn parts_need_at_most_as_many_single_values() {
        let digits = |assignment: u32| (0..8).map(move |i| assignment / 3u32.pow(i) % 3);
        let mut compared = 0;
        for assignment in 0..3u32.pow(8) {
            let intervals: Vec<WeightedInterval> = (0..)
                .zip(digits(assignment))
                .map(|(i, class)| WeightedInterval {
                    first: 3 * i,
                    last: 3 * i + if class == 2 { 0 } else { assignment % 2 * 2 },
                    class: class as usize,
                    weight: 0.0,
                })
                .collect();
            let Some(classes) = two_classes(&intervals) else { continue };
            let most = |found: Option<(u16, _)>| {
                found.map_or(MAX_SINGLES + 1, |(set, _)| set.count_ones())
            };
            let all = most(after_singles(&intervals));
            for part in [&intervals[1..], &intervals[..7], &intervals[2..6]] {
                let of_part = two_classes(part);
                if of_part
                    .is_some_and(|of_part| of_part.iter().all(|class| classes.contains(class)))
                {
                    compared += 1;
                    assert!(most(after_singles(part)) <= all, "{assignment} {part:?}");
                }
            }
        }
        assert!(compared > 1000, "{compared}");
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
            let bits: Vec<u32> = intervals.iter().map(|of| of.first).collect();
            let is_uniform = classes == 0 || classes == (1 << 8) - 1;
            assert_eq!(is_separable(&intervals, &bits, true), exists || is_uniform, "{classes:#b}");
            assert_eq!(is_separable(&intervals, &bits, false), is_uniform, "{classes:#b}");
            if let Some(MaskTest { mask, set, .. }) = found {
                assert!(separates(mask, 1 - set), "{classes:#b} {mask:#b}");
            }
            if let Some((tested, MaskTest { mask, set, clear })) = after_singles(&intervals) {
                for (at, interval) in
                    intervals.iter().enumerate().filter(|(at, _)| tested >> at & 1 == 0)
                {
                    let class = if interval.first & mask != 0 { set } else { clear };
                    assert_eq!(class, interval.class, "{at} {classes:#b} {mask:#b} {tested:#b}");
                }
            }
        }
    }
}
