//! Repeated patterns of intervals: searches whose solution is part of an earlier one.
//!
//! Two ranges have the same solution if their intervals have the same classes, kinds and weights, and if the same masks
//! and bitset tests are possible. Whether these are possible depends on the values, but only ranges of few intervals,
//! the local ones, have them; and it shows in the costs of the local ranges, and in which sets of intervals a mask
//! separates.

use super::interval::WeightedInterval;
use super::range_search::RangeSearch;

/// The minimum number of intervals. For fewer, solving all ranges takes little more time than the comparison.
const MIN_INTERVALS: usize = 64;

/// The first of the consecutive intervals of an earlier search that a search repeats, whose local ranges are solved.
pub(super) fn find(own: &RangeSearch, earlier: &RangeSearch) -> Option<usize> {
    let n = own.intervals.len();
    let others = earlier.intervals.windows(n).enumerate().filter(|_| n >= MIN_INTERVALS);
    let same_kinds = |others: &[WeightedInterval]| {
        let mut pairs = own.intervals.iter().zip(others);
        pairs.all(|(a, b)| (a.class, a.is_single(), a.weight) == (b.class, b.is_single(), b.weight))
    };
    let mut starts = others.filter(|(_, others)| same_kinds(others)).map(|(start, _)| start);
    starts.find(|start| {
        (0..n).all(|low| {
            let sets = sets_within(own.exact.separable(low), n - low);
            let costs = earlier.local_costs(start + low).take(n - low - 1);
            sets == sets_within(earlier.exact.separable(start + low), n - low)
                && own.local_costs(low).eq(costs)
        })
    })
}

/// The sets among the first `len` intervals of a bitmap of [`separable`](super::subsets::SubsetSearch::separable).
fn sets_within(sets: u64, len: usize) -> u64 {
    // Each set is a bitmap of the intervals after the first one.
    if len > 6 { sets } else { sets & ((1 << (1 << (len - 1))) - 1) }
}
