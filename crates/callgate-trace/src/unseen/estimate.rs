//! An estimate with its interval.

/// An estimate with an interval that contains the true value with a probability of 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

/// The 97.5 % quantile of the normal distribution.
pub(super) const Z: f64 = 1.959_963_984_540_054;

/// The probability that the true value is above the interval, and that it is below.
pub(super) const TAIL: f64 = 0.025;
