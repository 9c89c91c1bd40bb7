//! The intervals of values, as the search for plans needs them.

use std::hash::Hash;

use rustc_hash::FxHashMap as HashMap;

use super::plan::State;
use crate::query::{Interval, Size, WordFunc, WordFuncs};
use crate::tree::{ARGUMENT_WHOLE, WeightedInterval};
use callgate_core::diagram::{DiagramError, Store};

/// The maximum number of exits for which masks are tried.
pub(super) const MAX_EXITS: usize = 4;

/// The intervals of values, if there are at most `limit`. Charges the cost of a search tree over them, because functions
/// without a pattern have very many intervals.
pub(super) fn partition(
    funcs: &WordFuncs,
    store: &mut Store,
    (func, held): State,
    Size { intervals, .. }: Size,
    limit: usize,
) -> Result<Option<Vec<Interval<WordFunc>>>, DiagramError> {
    if intervals > limit {
        return Ok(None);
    }
    charge_search(store, intervals)?;
    Ok(Some(funcs.partition(func, held)))
}

/// Charges the traversal of a function with this number of intervals, and the search for its tree.
pub(crate) fn charge_search(store: &mut Store, intervals: usize) -> Result<(), DiagramError> {
    let steps = intervals + intervals * intervals.min(ARGUMENT_WHOLE).pow(2) / 48;
    store.charge_steps(steps as u64)
}

/// The intervals with equal weights, whose classes are indexes into the exits.
pub(crate) fn weighted<E: Copy + Eq + Hash>(
    intervals: &[Interval<E>],
) -> (Vec<WeightedInterval>, Vec<E>) {
    let mut exits: Vec<E> = Vec::new();
    let mut class_of = HashMap::default();
    let weight = 1.0 / intervals.len() as f64;
    let intervals = intervals.iter().map(|interval| {
        let next = exits.len();
        let class = *class_of.entry(interval.then).or_insert(next);
        if class == next {
            exits.push(interval.then);
        }
        WeightedInterval { first: interval.first, last: interval.last, class, weight }
    });
    (intervals.collect(), exits)
}

/// The exits by descending number of intervals, then by first occurrence. The order must not depend on node numbers,
/// which differ between equivalent descriptions.
pub(super) fn frequent_exits(intervals: &[Interval<WordFunc>]) -> Vec<WordFunc> {
    let mut exits: Vec<(WordFunc, usize)> = Vec::new();
    for interval in intervals {
        match exits.iter_mut().find(|(exit, _)| *exit == interval.then) {
            Some((_, count)) => *count += 1,
            None => exits.push((interval.then, 1)),
        }
    }
    exits.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    exits.truncate(MAX_EXITS);
    exits.into_iter().map(|(exit, _)| exit).collect()
}

/// Whether the intervals have few values each, except those of one exit.
pub(crate) fn is_scattered<E: Copy + Eq>(intervals: &[Interval<E>]) -> bool {
    const MEAN_VALUES: u128 = 3;
    let values = |interval: &Interval<E>| u128::from(interval.last - interval.first) + 1;
    let Some(widest) =
        intervals.iter().max_by_key(|interval| values(interval)).map(|interval| interval.then)
    else {
        return false;
    };
    let others = || intervals.iter().filter(|interval| interval.then != widest);
    others().map(values).sum::<u128>() <= MEAN_VALUES * others().count() as u128
}
