//! Rounded weights, whose sums are exact.

use super::interval::WeightedInterval;

/// The rounding of weights to multiples of a power of two, such that sums of them are exact: ranges with equal weights
/// have equal sums, wherever they are, so that of equal trees the same one is chosen. A weight changes by at most 2^-48 of
/// the total.
#[derive(Clone, Copy, Debug)]
pub(super) struct Rounding {
    /// The least significant bit of this number is the unit.
    large: f64,
}

impl Rounding {
    /// For weights with this sum: that of up to 2^52 units is exact.
    pub(super) fn of_total(total: f64) -> Rounding {
        Rounding { large: 16.0 * total }
    }

    /// The same intervals with rounded weights.
    pub(super) fn round<T>(self, intervals: &[WeightedInterval]) -> T
    where
        T: FromIterator<WeightedInterval>,
    {
        let weight = |weight: f64| (weight + self.large) - self.large;
        let rounded = |of: &WeightedInterval| WeightedInterval { weight: weight(of.weight), ..*of };
        intervals.iter().map(rounded).collect()
    }
}
