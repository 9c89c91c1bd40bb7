//! Masks that tell two classes of runs apart: the values of one have some bit of the mask, those of
//! the other have none.
//!
//! A mask must not have any bit that a value of the second class has. The more bits it has, the more
//! values it hits, so there is nothing to search: it has all others, and either that is enough or
//! no mask is.

use super::Run;

/// A mask, and the classes of what has a bit of it and what has none.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Pair {
    pub(super) mask: u32,
    pub(super) set: usize,
    pub(super) clear: usize,
}

/// All bits that values from `first` to `last` have.
fn all_bits(first: u32, last: u32) -> u32 {
    match first ^ last {
        0 => first,
        // Below the highest bit in which they differ, values have every bit.
        differ => last | (u32::MAX >> differ.leading_zeros() >> 1),
    }
}

/// Whether each value from `first` to `last` has a bit of the mask.
pub(super) fn all_hit(first: u32, last: u32, mask: u32) -> bool {
    let hit = first & mask;
    if hit == 0 {
        return false;
    }
    // The next value without a bit of the mask: a carry from the highest bit that is hit.
    let below = u32::MAX >> hit.leading_zeros();
    (first | mask | below).checked_add(1).is_none_or(|next| next & !mask > last)
}

/// The mask that tells the classes of runs apart, when there are two and one does.
pub(super) fn pair<'a>(runs: impl Iterator<Item = &'a Run> + Clone) -> Option<Pair> {
    let a = runs.clone().next()?.class;
    let b = runs.clone().find(|run| run.class != a)?.class;
    if runs.clone().any(|run| run.class != a && run.class != b) {
        return None;
    }
    tells(runs.clone(), a, b).or_else(|| tells(runs, b, a))
}

fn tells<'a>(
    runs: impl Iterator<Item = &'a Run> + Clone,
    set: usize,
    clear: usize,
) -> Option<Pair> {
    let of = |class| runs.clone().filter(move |run: &&Run| run.class == class);
    let mask = !of(clear).fold(0, |bits, run| bits | all_bits(run.first, run.last));
    if !of(set).all(|run| all_hit(run.first, run.last, mask)) {
        return None;
    }
    // Bits that do not occur say nothing.
    let mask = mask & of(set).fold(0, |bits, run| bits | all_bits(run.first, run.last));
    Some(Pair { mask, set, clear })
}

/// How many single values are tested first at the most.
const MAX_PEELED: usize = 5;

/// How many single values are considered to spoil a mask.
const MAX_SPOILERS: usize = 8;

/// A mask that tells runs apart when some single values, by their place in `runs`, are out of the
/// way. It is one with few of them.
pub(super) fn peeled(runs: &[Run]) -> Option<(Vec<usize>, Pair)> {
    let [a, b] = two_classes(runs)?;
    let mut best: Option<(Vec<usize>, Pair)> = None;
    for (set, clear) in [(a, b), (b, a)] {
        let fewest = best.as_ref().map_or(MAX_PEELED + 1, |(peeled, _)| peeled.len());
        if let Some(found) = peel(runs, set, clear, fewest) {
            best = Some(found);
        }
    }
    best
}

/// How many of the runs, from the first on, a mask could tell apart if all single values were out of
/// the way.
pub(super) fn spread(runs: &[Run]) -> usize {
    let apart = |runs: &[Run]| {
        two_classes(runs).is_none_or(|[a, b]| {
            [(a, b), (b, a)].into_iter().any(|(set, clear)| widest(runs, set, clear).is_some())
        })
    };
    // No mask for some is no mask for more.
    (1..=runs.len()).take_while(|n| runs[n - 1].is_single() || apart(&runs[..*n])).count()
}

/// The two classes of the runs that are no single values, or the first of those that are. None when
/// there are more, or fewer.
fn two_classes(runs: &[Run]) -> Option<[usize; 2]> {
    let mut classes: [Option<usize>; 2] = [None, None];
    let [a, b] = &mut classes;
    let (wide, single) =
        (runs.iter().filter(|run| !run.is_single()), runs.iter().filter(|run| run.is_single()));
    for (run, is_wide) in wide.map(|run| (run, true)).chain(single.map(|run| (run, false))) {
        if *a.get_or_insert(run.class) != run.class
            && *b.get_or_insert(run.class) != run.class
            && is_wide
        {
            return None;
        }
    }
    Some([(*a)?, (*b)?])
}

/// All bits that no value of a run of class `clear` has which is no single value, if each such value
/// of class `set` has one of them.
fn widest(runs: &[Run], set: usize, clear: usize) -> Option<u32> {
    let wide = |class| runs.iter().filter(move |run| run.class == class && !run.is_single());
    let widest = !wide(clear).fold(0, |bits, run| bits | all_bits(run.first, run.last));
    wide(set).all(|run| all_hit(run.first, run.last, widest)).then_some(widest)
}

/// As [`peeled`] for two classes, with fewer than `limit` single values.
fn peel(runs: &[Run], set: usize, clear: usize, limit: usize) -> Option<(Vec<usize>, Pair)> {
    let wide = |class| runs.iter().filter(move |run| run.class == class && !run.is_single());
    let widest = widest(runs, set, clear)?;
    let singles = |class| {
        runs.iter().enumerate().filter(move |(_, run)| run.class == class && run.is_single())
    };
    let clears: Vec<(usize, u32)> = singles(clear).map(|(at, run)| (at, run.first)).collect();
    if clears.len() > MAX_SPOILERS {
        return None;
    }
    let others = runs.iter().enumerate().filter(|(_, run)| run.class != set && run.class != clear);
    let others: Vec<usize> = others.map(|(at, _)| at).collect();
    let mut best: Option<(Vec<usize>, Pair)> = None;
    // None, one, or two of the values that must not be hit are tested before.
    let n = clears.len();
    let pairs = (0..n).flat_map(|i| (i + 1..=n).map(move |j| [i, j]));
    for without in std::iter::once([n, n]).chain(pairs) {
        let fewest = best.as_ref().map_or(limit, |(peeled, _)| peeled.len());
        let kept = clears.iter().enumerate().filter(|(i, _)| !without.contains(i));
        let mask = kept.fold(widest, |mask, (_, (_, value))| mask & !value);
        if !wide(set).all(|run| all_hit(run.first, run.last, mask)) {
            continue;
        }
        let mut peeled = others.clone();
        peeled.extend(without.iter().filter_map(|i| clears.get(*i)).map(|(at, _)| *at));
        peeled.extend(singles(set).filter(|(_, run)| run.first & mask == 0).map(|(at, _)| at));
        if peeled.len() < fewest {
            let hit = runs.iter().filter(|run| run.class == set);
            let mask = mask & hit.fold(0, |bits, run| bits | all_bits(run.first, run.last));
            best = Some((peeled, Pair { mask, set, clear }));
        }
    }
    best
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bits_of_a_range_are_those_of_its_values() {
        for first in 0..64u32 {
            for last in first..64 {
                let values = first..=last;
                assert_eq!(all_bits(first, last), values.clone().fold(0, |bits, v| bits | v));
                for mask in 0..64 {
                    let each = values.clone().all(|value| value & mask != 0);
                    assert_eq!(all_hit(first, last, mask), each, "{first} {last} {mask:#x}");
                }
            }
        }
        assert_eq!(all_bits(0, u32::MAX), u32::MAX);
        assert!(all_hit(1 << 31, u32::MAX, 1 << 31));
        assert!(!all_hit(u32::MAX - 1, u32::MAX, 1));
    }

    /// Every way to give eight values one of two classes: a mask is found exactly when one of all
    /// masks tells them apart.
    #[test]
    fn a_mask_is_found_when_there_is_one() {
        for classes in 0..1u32 << 8 {
            let runs: Vec<Run> = (0..8)
                .map(|value| Run {
                    first: value,
                    last: value,
                    class: (classes >> value & 1) as usize,
                    weight: 0.0,
                })
                .collect();
            let apart = |mask: u32, flip: usize| {
                runs.iter().all(|run| usize::from(run.first & mask != 0) ^ flip == run.class)
            };
            let exists = (1..8).any(|mask| apart(mask, 0) || apart(mask, 1));
            let found = pair(runs.iter());
            assert_eq!(found.is_some(), exists, "{classes:#b}");
            if let Some(Pair { mask, set, .. }) = found {
                assert!(apart(mask, 1 - set), "{classes:#b} {mask:#b}");
            }
            if let Some((peeled, Pair { mask, set, clear })) = peeled(&runs) {
                for (at, run) in runs.iter().enumerate().filter(|(at, _)| !peeled.contains(at)) {
                    let class = if run.first & mask != 0 { set } else { clear };
                    assert_eq!(class, run.class, "{at} {classes:#b} {mask:#b} {peeled:?}");
                }
            }
        }
    }
}
