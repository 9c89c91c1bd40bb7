//! The state of the dynamic program over ranges: the intervals, and what is known of their ranges.
//!
//! [`ranges`](super::ranges) has the program, the other modules with methods of [`RangeSearch`] one of its choices each.

use std::rc::Rc;

use super::chain::ChainBound;
use super::holed::HoledRanges;
use super::interval::WeightedInterval;
use super::mask_bounds::MaskBounds;
use super::plain_costs::PlainCosts;
use super::price::Price;
use super::ranks::Ranks;
use super::subsets::SubsetSearch;

/// Makes a sum of costs a lower bound despite rounding, so that of equal trees the same one is chosen.
pub(super) const ROUNDED_DOWN: f64 = 1.0 - 1e-9;

/// A compact form, because there is one per range. Intervals are relative to the first one of the range, which has at
/// most [`Price::whole`] intervals.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Choice {
    Leaf,
    Exact,
    /// The cheapest order test of a range without holes.
    CheapestSplit,
    /// An order test; the upper part begins with this interval.
    Split(u16),
    /// An equality test of this interval.
    Equal(u16),
    Chain,
    Masked,
    Bitset,
}

pub(super) struct RangeSearch {
    pub(super) intervals: Rc<[WeightedInterval]>,
    pub(super) price: Price,
    /// The intervals at which order tests may split ranges, and the first one.
    pub(super) starts: Rc<[usize]>,
    /// The minimum share of the weight of a single value that is tested for equality first.
    pub(super) heavy: f64,
    pub(super) exact: SubsetSearch,
    /// Per interval, the sum of the weights before it.
    pub(super) before: Vec<f64>,
    /// For ranges without holes, the choices by `low * n + high`.
    pub(super) choices: Vec<Choice>,
    pub(super) costs: PlainCosts,
    /// Per interval, the last interval of the longest chain from there.
    pub(super) chain_end: Vec<usize>,
    pub(super) ends: Vec<End>,
    pub(super) masks: MaskBounds,
    /// Per interval, the first one from there that is not a single value.
    pub(super) first_wide: Vec<usize>,
    /// The single values, the heaviest first.
    pub(super) ranks: Ranks,
    /// The solutions of ranges with holes for which [`RangeSearch::exact`] has none.
    pub(super) holed: HoledRanges<Choice>,
}

/// What is known of the intervals from one on up to a current end.
#[derive(Clone, Copy)]
pub(super) struct End {
    /// The interval after the end.
    pub(super) next: usize,
    /// A bound of the cost of a chain.
    pub(super) chain: ChainBound,
}

impl End {
    pub(super) fn new(low: usize) -> End {
        End { next: low, chain: ChainBound::default() }
    }
}

impl RangeSearch {
    pub(super) fn weight(&self, low: usize, high: usize) -> f64 {
        self.before[high + 1] - self.before[low]
    }
}
