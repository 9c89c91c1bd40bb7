//! Branches: the values of the first argument that a function tests, grouped by exit.

use super::arguments::compared;
use super::condition::{ArgPart, Branch, ValueCondition, ValueSet};
use super::partition::{Interval, partition};
use super::word_funcs::{Bounds, WordFunc, WordFuncs};
use callgate_core::Word;
use callgate_core::diagram::{Func, Store};

/// The maximum number of exits of a word that are distinguished if it has too many intervals.
pub const MAX_EXITS: usize = 64;

/// The maximum number of intervals of a word that are distinguished.
pub const MAX_INTERVALS: usize = 256;

/// The most values of an argument that are exceptions.
const MAX_EXCEPTIONS: usize = 16;

/// A function of an argument whose low half decides, but for a few values of the whole argument.
#[derive(Clone, Debug)]
pub struct Exceptions {
    /// These values, by exit.
    pub branches: Vec<Branch>,
    /// The function of the low half for all others.
    pub others: Func,
}

/// The exceptions of a function that tests the high half of an argument first, because they have no high bits, and are not
/// exceptions with any: `flags == 0` where otherwise one bit of the low half decides. `None` if there are none, or more than a few.
pub fn exceptions(store: &Store, func: Func) -> Option<Exceptions> {
    let word = store.top_word(func)?;
    let (arg, is_high) = word.argument()?;
    let low = Word::from_index(word.index() + 1)?;
    let high = partition(store, func, word, MAX_INTERVALS)?;
    let [zero, others] = high.as_slice() else { return None };
    if !is_high || zero.last != 0 || store.top_word(others.then) != Some(low) {
        return None;
    }
    let mut branches: Vec<Branch> = Vec::new();
    for (value, then) in differing(store, zero.then, others.then, low)? {
        let value = (u64::from(value), u64::from(value));
        if let Some(own) = branches.iter_mut().find(|branch| branch.then == then) {
            own.size += 1;
            if let ValueSet::Ranges(ranges) = &mut own.condition.values {
                ranges.push(value);
            }
            continue;
        }
        let values = ValueSet::Ranges(vec![value]);
        let condition = ValueCondition { arg: Some(arg), part: ArgPart::Whole, values };
        branches.push(Branch { condition, size: 1, then });
    }
    Some(Exceptions { branches, others: others.then })
}

/// The values of a word for which two functions have different exits, in order, with that of the first one; `None` if there are more
/// than a few. Different functions differ for some value, so each path of the search ends at one of them.
fn differing(store: &Store, a: Func, b: Func, word: Word) -> Option<Vec<(u32, Func)>> {
    let first = word.index() * 32;
    let mut found = Vec::new();
    let mut open = vec![(a, b, 0, 0_u32)];
    while let Some((a, b, bit, value)) = open.pop() {
        if a == b {
            continue;
        }
        if bit == 32 {
            if found.len() == MAX_EXCEPTIONS {
                return None;
            }
            found.push((value, a));
            continue;
        }
        let split = |func| match store.branch(func) {
            (var, low, high) if usize::from(var) == first + bit => [low, high],
            _ => [func; 2],
        };
        let ([a_low, a_high], [b_low, b_high]) = (split(a), split(b));
        open.push((a_high, b_high, bit + 1, value | 1 << (31 - bit)));
        open.push((a_low, b_low, bit + 1, value));
    }
    Some(found)
}

/// An interval of values of an argument, and their exit.
type Values = (u64, u64, Func);

/// The branches of the first argument that the function tests, or of the comparison of two arguments.
pub fn branches(store: &Store, func: Func) -> Option<Vec<Branch>> {
    let Some(word) = store.top_word(func) else { return compared(store, func) };
    let intervals = partition(store, func, word, MAX_INTERVALS);
    let (arg, is_high) = match word.argument() {
        Some((arg, is_high)) => (Some(arg), is_high),
        None => (None, word == Word::IP_HIGH),
    };
    let whole = intervals.as_ref().filter(|_| is_high);
    let values = whole.and_then(|high| whole_values(store, word, high));
    if values.is_none() {
        if let Some(branches) = whole.and_then(|high| whole_mask(store, word, arg, high)) {
            return Some(branches);
        }
    }
    let (part, intervals) = match values {
        Some(whole) => (ArgPart::Whole, Some(whole)),
        None => {
            let part = if is_high { ArgPart::High } else { ArgPart::Low };
            (part, intervals.map(|intervals| widen(&intervals, 0).collect()))
        }
    };
    group(store, func, word, (arg, part), intervals)
}

/// Both halves as one number, if each value of the high half has few intervals of the low half.
fn whole_values(store: &Store, word: Word, high: &[Interval]) -> Option<Vec<Values>> {
    let low = Word::from_index(word.index() + 1)?;
    let mut whole: Vec<Values> = Vec::new();
    let mut looks_at_low = false;
    for interval in high {
        let first = u64::from(interval.first) << 32;
        if store.top_word(interval.then) != Some(low) {
            let last = u64::from(interval.last) << 32 | u64::from(u32::MAX);
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
}

/// Two exits, of which one is that of the values with no bit outside a mask, in both halves, and with `wanted` in it.
fn whole_mask(
    store: &Store,
    word: Word,
    arg: Option<u8>,
    high: &[Interval],
) -> Option<Vec<Branch>> {
    let low = Word::from_index(word.index() + 1)?;
    let [zero, others] = high else { return None };
    if zero.last != 0 || store.top_word(zero.then) != Some(low) {
        return None;
    }
    let exits = store.exits(zero.then, low, 2)?;
    let own = exits.iter().find(|exit| **exit != others.then)?;
    if !exits.contains(&others.then) {
        return None;
    }
    let mut funcs = WordFuncs::new(low);
    let (func, exit) = (funcs.copy(store, zero.then), funcs.copy(store, *own));
    let (values, size) = masked(&mut funcs, func, exit, None);
    let ValueSet::Masked { mask, wanted } = values else { return None };
    let mask = mask | u64::from(u32::MAX) << 32;
    let branch = |values, size, then| {
        let condition = ValueCondition { arg, part: ArgPart::Whole, values };
        Branch { condition, size, then }
    };
    Some(vec![
        branch(ValueSet::Masked { mask, wanted }, size, *own),
        branch(ValueSet::NotMasked { mask, wanted }, (1 << 64) - size, others.then),
    ])
}

/// One branch per exit.
fn group(
    store: &Store,
    func: Func,
    word: Word,
    (arg, part): (Option<u8>, ArgPart),
    intervals: Option<Vec<Values>>,
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
    let mut funcs = WordFuncs::new(word);
    let branch = |then: Func| {
        let ranges: Option<Vec<(u64, u64)>> = intervals.as_ref().map(|intervals| {
            let own = intervals.iter().filter(|(_, _, exit)| *exit == then);
            own.map(|(first, last, _)| (*first, *last)).collect()
        });
        let (values, size) = match ranges {
            // A few ranges are most readable; otherwise a mask may describe the set.
            Some(ranges) if ranges.len() <= 4 || part == ArgPart::Whole => {
                let values = ranges.iter().map(|(first, last)| u128::from(last - first) + 1);
                let size = values.sum();
                (ValueSet::Ranges(ranges), size)
            }
            ranges => {
                let (func, exit) = (funcs.copy(store, func), funcs.copy(store, then));
                masked(&mut funcs, func, exit, ranges)
            }
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
        Branch { condition: ValueCondition { arg, part, values }, size, then }
    };
    Some(exits.into_iter().map(branch).collect())
}

/// The values of a word that lead to an exit, as a mask if possible, and their number.
fn masked(
    funcs: &mut WordFuncs,
    func: WordFunc,
    exit: WordFunc,
    ranges: Option<Vec<(u64, u64)>>,
) -> (ValueSet, u128) {
    let size = funcs.values_to(func, exit);
    // The mask of a set with these bounds and this size, if it contains all values within the bounds.
    let cube = |bounds: Option<Bounds>, size: u64| {
        let Bounds { any, all } = bounds?;
        let mask = !any | all;
        (1 << mask.count_zeros() == size).then_some((u64::from(mask), u64::from(all)))
    };
    let values = if let Some((mask, wanted)) = cube(funcs.bounds_of(func, exit), size) {
        ValueSet::Masked { mask, wanted }
    } else if let Some((mask, wanted)) = cube(funcs.bounds_except(func, exit), (1 << 32) - size) {
        ValueSet::NotMasked { mask, wanted }
    } else {
        ranges.map_or(ValueSet::Many(size.into()), ValueSet::Ranges)
    };
    (values, size.into())
}

fn widen(intervals: &[Interval], high: u64) -> impl Iterator<Item = Values> {
    intervals.iter().map(move |Interval { first, last, then }| {
        (high | u64::from(*first), high | u64::from(*last), *then)
    })
}

/// Merges adjacent intervals with the same exit.
fn join(intervals: Vec<Values>) -> Vec<Values> {
    let mut joined: Vec<Values> = Vec::with_capacity(intervals.len());
    for (first, last, then) in intervals {
        match joined.last_mut() {
            Some(open) if open.2 == then => open.1 = last,
            _ => joined.push((first, last, then)),
        }
    }
    joined
}
