//! *Bitset tests*: up to 32 consecutive values of two classes index a constant with a bit for each (`sub`, `tax`,
//! `ld #bits`, `rsh x`, `jset #1`).

use super::interval::WeightedInterval;
use super::node::{Node, Tree};
use super::price::Price;

/// The maximum number of consecutive values.
pub(super) const MAX_VALUES: u32 = 32;

/// The number of instructions, all of which are executed; one less if the first value is 0.
const INSNS: f64 = 5.0;

/// The minimum number of intervals. For fewer, comparisons are at least as cheap.
const MIN_INTERVALS: usize = 5;

/// The number of instructions for values from this one on.
pub(super) fn insns(first: u32) -> f64 {
    if first == 0 { INSNS - 1.0 } else { INSNS }
}

/// The cost for consecutive intervals of this weight, if a bitset test decides them.
pub(super) fn cost(intervals: &[WeightedInterval], weight: f64, price: Price) -> Option<f64> {
    let ([first, second, ..], Some(last)) = (intervals, intervals.last()) else { return None };
    if intervals.len() < MIN_INTERVALS || last.last - first.first >= MAX_VALUES {
        return None;
    }
    let is_of_two = |of: &WeightedInterval| of.class == first.class || of.class == second.class;
    let is_possible = price.bitset_tests && intervals.iter().all(is_of_two);
    is_possible.then(|| insns(first.first) * (price.size + weight))
}

/// Adds the test of consecutive intervals.
pub(super) fn emit(intervals: &[WeightedInterval], tree: &mut Tree) -> usize {
    let [first, second, ..] = intervals else { return tree.leaf(0) };
    let of_set = intervals.iter().filter(|interval| interval.class == second.class);
    let values = of_set.flat_map(|interval| interval.first..=interval.last);
    let bits = values.fold(0, |bits, value| bits | 1 << (value - first.first));
    let then = tree.leaf(second.class);
    let otherwise = tree.leaf(first.class);
    tree.push(Node::Bitset { base: first.first, bits, then, otherwise })
}
