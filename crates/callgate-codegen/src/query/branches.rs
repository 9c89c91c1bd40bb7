//! Branches: the values of the first argument that a function tests, grouped by exit.

use super::bits::{Bounds, bounds_except, bounds_of, values_to};
use super::condition::{ArgPart, ValueCondition, ValueSet};
use super::partition::{Interval, partition};
use callgate_core::Word;
use callgate_core::diagram::{Func, Store};

/// The maximum number of exits of a word that are distinguished if it has too many intervals.
pub const MAX_EXITS: usize = 64;

/// The maximum number of intervals of a word that are distinguished.
pub const MAX_INTERVALS: usize = 256;

/// The values of an argument that lead to an exit.
#[derive(Clone, Debug)]
pub struct Branch {
    /// The condition that its values meet.
    pub condition: ValueCondition,
    /// The number of values.
    pub size: u128,
    /// The exit.
    pub then: Func,
}

/// The branches of the first argument that the function tests.
pub fn branches(store: &Store, func: Func) -> Option<Vec<Branch>> {
    let word = store.top_word(func)?;
    let intervals = partition(store, func, word, MAX_INTERVALS);
    let (arg, high) = match word.argument() {
        Some((arg, high)) => (Some(arg), high),
        None => (None, word == Word::IP_HIGH),
    };
    if !high {
        return group(
            store,
            func,
            word,
            arg,
            ArgPart::Low,
            intervals.map(|intervals| widen(&intervals, 0)),
        );
    }
    let low = Word::from_index(word.index() + 1)?;
    // Both halves as one number, if each value of the high half has few intervals of the low half.
    let whole = intervals.as_ref().and_then(|intervals| {
        let mut whole: Vec<(u64, u64, Func)> = Vec::new();
        let mut looks_at_low = false;
        for interval in intervals {
            let first = u64::from(interval.first) << 32;
            let last = u64::from(interval.last) << 32 | u64::from(u32::MAX);
            if store.top_word(interval.then) != Some(low) {
                whole.push((first, last, interval.then));
            } else if interval.first == interval.last {
                looks_at_low = true;
                let lows = partition(store, interval.then, low, MAX_INTERVALS)?;
                whole.extend(widen(&lows, first));
            } else {
                return None;
            }
        }
        looks_at_low.then(|| join(whole))
    });
    match whole {
        Some(whole) => group(store, func, word, arg, ArgPart::Whole, Some(whole)),
        None => group(
            store,
            func,
            word,
            arg,
            ArgPart::High,
            intervals.map(|intervals| widen(&intervals, 0)),
        ),
    }
}

/// One branch per exit.
fn group(
    store: &Store,
    func: Func,
    word: Word,
    arg: Option<u8>,
    part: ArgPart,
    intervals: Option<Vec<(u64, u64, Func)>>,
) -> Option<Vec<Branch>> {
    let exits: Vec<Func> = match &intervals {
        Some(intervals) => {
            let mut exits = Vec::new();
            for (_, _, then) in intervals {
                if !exits.contains(then) {
                    exits.push(*then);
                }
            }
            exits
        }
        None => store.exits(func, word, MAX_EXITS)?,
    };
    let mut branches = Vec::new();
    for exit in &exits {
        let ranges: Option<Vec<(u64, u64)>> = intervals.as_ref().map(|intervals| {
            let own = intervals.iter().filter(|(_, _, then)| then == exit);
            own.map(|(first, last, _)| (*first, *last)).collect()
        });
        // A few ranges are most readable; otherwise a mask may describe the set.
        let listed = ranges.as_ref().filter(|ranges| ranges.len() <= 4);
        let (values, size) = match (listed, part) {
            (Some(ranges), _) => (ValueSet::Ranges(ranges.clone()), count(ranges)),
            (None, ArgPart::Whole) => {
                let ranges = ranges.unwrap_or_default();
                let size = count(&ranges);
                (ValueSet::Ranges(ranges), size)
            }
            (None, _) => masked(store, func, word, *exit, ranges),
        };
        // Bits of the low half are bits of the whole.
        let part = match &values {
            ValueSet::Masked { mask, .. } | ValueSet::NotMasked { mask, .. }
                if part == ArgPart::Low && *mask != u64::from(u32::MAX) =>
            {
                ArgPart::Whole
            }
            _ => part,
        };
        let condition = ValueCondition { arg, part, values };
        branches.push(Branch { condition, size, then: *exit });
    }
    Some(branches)
}

/// The values of a word that lead to an exit, as a mask if possible, and their number.
fn masked(
    store: &Store,
    func: Func,
    word: Word,
    exit: Func,
    ranges: Option<Vec<(u64, u64)>>,
) -> (ValueSet, u128) {
    let size = values_to(store, func, word, exit);
    // The mask of a set with these bounds and this size, if it contains all values within the bounds.
    let cube = |bounds: Option<Bounds>, size: u128| {
        let Bounds { any, all } = bounds?;
        let mask = !any | all;
        (1u128 << mask.count_zeros() == size).then_some((u64::from(mask), u64::from(all)))
    };
    let own = bounds_of(store, func, word, exit);
    if let Some((mask, wanted)) = cube(own, size) {
        return (ValueSet::Masked { mask, wanted }, size);
    }
    let rest = bounds_except(store, func, word, exit);
    if let Some((mask, wanted)) = cube(rest, (1 << 32) - size) {
        return (ValueSet::NotMasked { mask, wanted }, size);
    }
    (ranges.map_or(ValueSet::Many(size), ValueSet::Ranges), size)
}

fn widen(intervals: &[Interval], high: u64) -> Vec<(u64, u64, Func)> {
    intervals
        .iter()
        .map(|interval| {
            (high | u64::from(interval.first), high | u64::from(interval.last), interval.then)
        })
        .collect()
}

/// Merges adjacent intervals with the same exit.
fn join(intervals: Vec<(u64, u64, Func)>) -> Vec<(u64, u64, Func)> {
    let mut joined: Vec<(u64, u64, Func)> = Vec::with_capacity(intervals.len());
    for (first, last, then) in intervals {
        match joined.last_mut() {
            Some(open) if open.2 == then => open.1 = last,
            _ => joined.push((first, last, then)),
        }
    }
    joined
}

fn count(ranges: &[(u64, u64)]) -> u128 {
    ranges.iter().map(|(first, last)| u128::from(last - first) + 1).sum()
}
