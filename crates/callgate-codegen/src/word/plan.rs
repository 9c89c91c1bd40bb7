//! Plans for functions of a word, the bits that A holds between their steps, and the intervals of values that they are made for.

use crate::Result;
use std::hash::Hash;

use callgate_core::diagram::Store;
use rustc_hash::FxHashMap as HashMap;

use crate::query::{Cube, Interval, Size, WordFunc, WordFuncs};
use crate::tree::{ARGUMENT_WHOLE, Tree, WeightedInterval};

/// The plan for a function of a word.
#[derive(Clone, Debug)]
pub(crate) enum Plan {
    /// The function does not depend on the word.
    Exit,
    /// A search tree over the intervals; its classes are indexes into the exits.
    Search { tree: Tree, exits: Vec<WordFunc> },
    /// [`AnyBit`]: `jset #mask`, or its replacement.
    AnyBit { mask: u32, then: WordFunc, otherwise: WordFunc },
    /// `and #mask` and `jeq #value`, which overwrites A.
    Masked { mask: u32, value: u32, then: WordFunc, otherwise: WordFunc },
    /// The plan of `first`; at `exit`, `and #mask` and the plan of `then`.
    Project { mask: u32, first: WordFunc, exit: WordFunc, then: WordFunc },
    /// A test per product, each with its exit: `jeq`, [`AnyBit`], or `and` and `jeq`. If no product matches,
    /// `otherwise`.
    Products { products: ProductExits, otherwise: WordFunc },
}

/// Products with their exits.
pub(super) type ProductExits = Vec<(Cube, WordFunc)>;

/// A function, and the bits of the word that A holds; the function depends on no others.
pub(crate) type State = (WordFunc, u32);

/// How a function continues after a test.
pub(crate) struct After {
    /// The bits that A holds then.
    pub(crate) held: u32,
    /// The number of instructions that load these bits again.
    pub(crate) reload: u32,
}

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
) -> Result<Option<Vec<Interval<WordFunc>>>> {
    if intervals > limit {
        return Ok(None);
    }
    charge_search(store, intervals)?;
    Ok(Some(funcs.partition(func, held)))
}

/// Charges the traversal of a function with this number of intervals, and the search for its tree.
pub(crate) fn charge_search(store: &mut Store, intervals: usize) -> Result<()> {
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
