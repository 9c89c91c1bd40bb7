//! Numbers that are derived from a measurement.

use callgate_measure::stats::Interval;

/// A number that is derived from a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// A stable name.
    pub key: &'static str,
    /// The description.
    pub text: &'static str,
    /// The number.
    pub value: f64,
    /// Its unit.
    pub unit: &'static str,
    /// Its confidence interval, for a difference that may be below the noise floor.
    pub known: Option<Known>,
}

impl Finding {
    pub(crate) fn new(
        key: &'static str,
        text: &'static str,
        value: f64,
        unit: &'static str,
    ) -> Finding {
        Finding { key, text, value, unit, known: None }
    }
}

/// The confidence in a difference.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Known {
    /// The 95 % confidence interval.
    pub interval: Interval,
    /// Whether it is resolved: its confidence interval does not contain 0, and it is above the noise floor.
    pub is_resolved: bool,
}

impl Known {
    pub(crate) fn of(interval: Interval, noise: Interval) -> Known {
        let is_one_sided = interval.low > 0.0 || interval.high < 0.0;
        let same = noise.low.abs().max(noise.high.abs());
        Known { interval, is_resolved: is_one_sided && interval.median.abs() > same }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_difference_is_resolved_when_identical_subjects_differ_by_less() {
        let interval = |low, median, high| Interval { low, median, high };
        let of = |own, noise| Known::of(own, noise).is_resolved;
        let quiet = interval(-2.0, 1.0, 3.0);
        assert!(of(interval(3.0, 5.0, 7.0), quiet));
        assert!(of(interval(-7.0, -5.0, -3.0), quiet));
        assert!(!of(interval(-0.1, 5.0, 7.0), quiet), "0 is inside");
        assert!(!of(interval(1.0, 2.9, 4.0), quiet), "identical subjects differ by 3");
        assert!(!of(interval(3.0, 5.0, 7.0), interval(-6.0, 0.0, 1.0)), "or by 6 the other way");
    }
}
