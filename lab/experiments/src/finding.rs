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
        Known { interval, is_resolved: interval.is_resolved(noise) }
    }
}
