//! Numbers that are derived from a measurement.

use callgate_measure::stats::Interval;

/// A number that is derived from a measurement.
#[derive(Clone, Debug, PartialEq)]
pub struct Finding {
    /// A stable name.
    pub key: &'static str,
    /// The description.
    pub text: &'static str,
    /// The number with its 95 % confidence interval, which is unbounded after one round.
    pub figure: Interval,
    /// Its unit.
    pub unit: &'static str,
    /// For a difference that may be below the noise floor, whether it is resolved: its confidence interval does not contain
    /// 0, and identical subjects differ by less.
    pub is_resolved: Option<bool>,
}

impl Finding {
    pub(crate) fn new(
        key: &'static str,
        text: &'static str,
        figure: Interval,
        unit: &'static str,
    ) -> Finding {
        Finding { key, text, figure, unit, is_resolved: None }
    }

    /// The same for a difference, of which identical subjects show this one.
    pub(crate) fn beside(self, noise: Interval) -> Finding {
        Finding { is_resolved: Some(self.figure.is_resolved(noise)), ..self }
    }

    /// Its remark: `resolved`, `not resolved`, or none.
    pub(crate) fn remark(&self) -> &'static str {
        match self.is_resolved {
            Some(true) => ", resolved",
            Some(false) => ", not resolved",
            None => "",
        }
    }
}
