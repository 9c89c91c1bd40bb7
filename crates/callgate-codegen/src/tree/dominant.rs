//! The single value that is tested before all others.

use super::interval::WeightedInterval;
use super::price::Price;

/// From this share of the weight on, a single value is tested for equality before all others (Chrobak et al.: some
/// optimal tree begins so from 4/9, and none below 1/4).
const DOMINANT: f64 = 0.3;

/// The single value whose weight is so large that it is tested first.
pub(super) fn dominant(intervals: &[WeightedInterval], total: f64, price: Price) -> Option<usize> {
    // Without its own test it would need several; their weight must exceed the price of the instruction.
    let heavy = |interval: &WeightedInterval| {
        interval.is_single() && interval.weight > DOMINANT * total && interval.weight > price.size
    };
    intervals.iter().position(heavy)
}
