//! The estimator of the figures in published form: every figure of a table is a function of one set of times.
//!
//! - The time without a filter (more exactly: of the baseline) is its median over the rounds.
//! - The time under a filter is that plus the median of the differences from the baseline in the same round. A machine may be
//!   in another state in some rounds, which shifts all times of a round alike; the difference of two medians would contain
//!   such a shift, the median of differences does not.
//! - Each other figure, such as loops in ten seconds, a share in percent or an overhead per filter, is computed from these
//!   times. So the figures of a table agree with each other: dividing or subtracting printed figures gives the other printed
//!   ones, up to their rounding.
//! - The interval of a figure is the 95 % confidence interval of the same function of the times of each round
//!   ([`Interval::of`]), extended to the figure where it is outside, and by what another [state](States) of the machine would
//!   change. After one round it is not known.

use callgate_measure::Samples;
use callgate_measure::stats::{self, Interval, STATE, STATE_OF_TIME, States};

/// The times of several subjects for one body.
#[derive(Clone, Debug)]
pub(crate) struct Times {
    /// Per subject, one time per round.
    rounds: Vec<Vec<f64>>,
    /// Per subject, the estimate.
    estimates: Vec<f64>,
    base: usize,
    states: States,
}

/// The time of each subject.
type Of<'a> = &'a dyn Fn(usize) -> f64;

impl Times {
    /// Nanoseconds per iteration of a body, with a subject as the baseline; `None` without a complete round.
    pub(crate) fn of(samples: &Samples, base: usize, body: usize) -> Option<Times> {
        let rounds = (0..samples.subjects()).map(|at| samples.values(at, body)).collect();
        let mut only = vec![0.0; body];
        only.push(1.0);
        Some(Times { states: samples.states(base, &only), ..Times::of_rounds(rounds, base)? })
    }

    /// Nanoseconds per iteration of the weighted mean of the bodies with these weights.
    pub(crate) fn of_mean(samples: &Samples, base: usize, weights: &[f64]) -> Option<Times> {
        let sum: f64 = weights.iter().sum();
        let mean = |subject| {
            let mut means = vec![0.0; samples.rounds()];
            for (body, weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
                for (mean, value) in means.iter_mut().zip(samples.values(subject, body)) {
                    *mean += value * weight / sum;
                }
            }
            means
        };
        let rounds = (0..samples.subjects()).map(mean).collect();
        Some(Times { states: samples.states(base, weights), ..Times::of_rounds(rounds, base)? })
    }

    /// Times in any unit: per subject, one per round.
    pub(crate) fn of_rounds(rounds: Vec<Vec<f64>>, base: usize) -> Option<Times> {
        let own = rounds.get(base)?;
        let without = stats::median(own)?;
        let estimate = |times: &Vec<f64>| {
            let differences: Vec<f64> =
                times.iter().zip(own).map(|(with, without)| with - without).collect();
            Some(without + stats::median(&differences)?)
        };
        let estimates = rounds.iter().map(estimate).collect::<Option<Vec<f64>>>()?;
        let states = States::seen(own);
        Some(Times { rounds, estimates, base, states })
    }

    /// A figure with its interval: a function of the times of the subjects, given by their indices. `None` if it is not a
    /// number, such as the ratio of an overhead to one of 0, or if there is no such subject.
    pub(crate) fn figure(&self, of: impl Fn(&dyn Fn(usize) -> f64) -> f64) -> Option<Interval> {
        let value = of(&|subject| self.estimates.get(subject).copied().unwrap_or(f64::NAN));
        if !value.is_finite() {
            return None;
        }
        let count = self.rounds.get(self.base).map_or(0, Vec::len);
        let in_round = |round: usize| {
            of(&|subject| {
                let time = self.rounds.get(subject).and_then(|times| times.get(round));
                time.copied().unwrap_or(f64::NAN)
            })
        };
        let values: Vec<f64> = (0..count).map(in_round).collect();
        let interval = Interval::of(&values, 0)?;
        let (low, high) = (interval.low.min(value), interval.high.max(value));
        let interval = Interval { median: value, low, high };
        Some(self.in_other_states(interval, &of))
    }

    /// The interval of a figure if the machine is in another state: if everything takes longer or shorter by a share, or one subject by a
    /// share of the baseline. See [`Interval::in_any_state`].
    fn in_other_states(&self, own: Interval, of: &dyn Fn(Of<'_>) -> f64) -> Interval {
        let value = own.median;
        let time = |subject: usize| self.estimates.get(subject).copied().unwrap_or(f64::NAN);
        let base = time(self.base);
        let all_by = |longer: f64, shorter: f64| {
            let by = [1.0 + longer, 1.0 - shorter]
                .map(|factor| of(&|subject| time(subject) * factor) - value);
            let by = by.into_iter().filter(|more| more.is_finite());
            by.fold((0.0, 0.0), |(less, more): (f64, f64), by| (by.min(less), by.max(more)))
        };
        let of_one = |one: usize| {
            let more = STATE_OF_TIME * base;
            of(&|subject| time(subject) + if subject == one { more } else { 0.0 }) - value
        };
        let ones = (0..self.estimates.len()).filter(|one| *one != self.base).map(of_one);
        let ones = ones.filter(|more| more.is_finite()).map(|more| more * more).sum::<f64>();
        let (less, more) = all_by(STATE, STATE);
        let (low, high) = (value - less.hypot(ones.sqrt()), value + more.hypot(ones.sqrt()));
        let unseen = own.symmetric().with_error_of(Interval { median: value, low, high });
        let (less, more) = all_by(self.states.longer, self.states.shorter);
        Interval { low: unseen.low + less, high: unseen.high + more, ..unseen }
    }

    /// The time of a subject.
    pub(crate) fn time(&self, subject: usize) -> Option<Interval> {
        self.figure(|time| time(subject))
    }

    /// The time of a subject over that of the baseline.
    pub(crate) fn over(&self, subject: usize) -> Option<Interval> {
        self.figure(|time| time(subject) - time(self.base))
    }

    /// The percentage of the time of a subject that it adds to the baseline.
    pub(crate) fn share(&self, subject: usize) -> Option<Interval> {
        self.figure(|time| (1.0 - time(self.base) / time(subject)) * 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The machine is slower in some rounds; each subject adds the same to all of them.
    fn unsteady() -> Times {
        let none: Vec<f64> =
            (0..20).map(|round| if round % 3 == 0 { 900.0 } else { 800.0 }).collect();
        let with = |more: f64| none.iter().map(|time| time + more).collect::<Vec<_>>();
        // The median of this one is that of a slow round, because one fast round was disturbed.
        let mut disturbed = with(200.0);
        for (round, time) in disturbed.iter_mut().enumerate() {
            if round % 5 == 1 {
                *time += 90.0;
            }
        }
        Times::of_rounds(vec![none.clone(), with(100.0), disturbed], 0).unwrap()
    }

    #[test]
    fn figures_of_a_table_agree_with_each_other() {
        let times = unsteady();
        let value = |interval: Option<Interval>| interval.unwrap().median;
        for subject in [1, 2] {
            let (none, with) = (value(times.time(0)), value(times.time(subject)));
            assert!((value(times.over(subject)) - (with - none)).abs() < 1e-9);
            assert!((value(times.share(subject)) - (1.0 - none / with) * 100.0).abs() < 1e-9);
            let loops = |subject: usize| value(times.figure(|time| 1e10 / time(subject)));
            let lost = (1.0 - loops(subject) / loops(0)) * 100.0;
            assert!((lost - value(times.share(subject))).abs() < 1e-9);
        }
        assert_eq!((value(times.over(1)), value(times.over(2))), (100.0, 200.0));
    }

    /// Where the machine is in two states, a few disturbed rounds move the median of the times by half of what is between the
    /// states.
    #[test]
    fn differences_are_those_within_a_round() {
        let none: Vec<f64> = [[800.0; 11].as_slice(), &[900.0; 9]].concat();
        let mut with: Vec<f64> = none.iter().map(|time| time + 100.0).collect();
        with[0] += 50.0;
        with[1] += 50.0;
        assert_eq!((stats::median(&none), stats::median(&with)), (Some(800.0), Some(950.0)));
        let times = Times::of_rounds(vec![none, with], 0).unwrap();
        assert_eq!(times.over(1).unwrap().median, 100.0);
        assert_eq!(times.time(1).unwrap().median, 900.0);
    }

    #[test]
    fn an_interval_contains_its_figure_and_what_the_rounds_say() {
        let times = unsteady();
        let over = times.over(1).unwrap();
        // The same in each round, 800 is the baseline, and 900 in a third of them.
        let unseen = (STATE * 100.0).hypot(STATE_OF_TIME * 800.0);
        assert!((over.high - 112.5 - unseen).abs() < 1e-9, "{over:?}");
        assert!((100.0 - over.low - unseen).abs() < 1e-9, "{over:?}");
        // The time itself is not: 900 and 1,000.
        let time = times.time(1).unwrap();
        assert!(time.low <= 900.0 && time.high >= 900.0 && time.is_known());
        for interval in [times.time(2), times.share(2), times.figure(|time| time(2) / time(1))] {
            let interval = interval.unwrap();
            assert!(interval.low <= interval.median && interval.median <= interval.high);
        }
    }

    #[test]
    fn one_round_has_figures_without_an_interval() {
        let times = Times::of_rounds(vec![vec![100.0], vec![150.0]], 0).unwrap();
        let over = times.over(1).unwrap();
        assert_eq!((over.median, over.is_known()), (50.0, false));
        assert!(Times::of_rounds(vec![Vec::new(), Vec::new()], 0).is_none());
        assert!(Times::of_rounds(Vec::new(), 0).is_none());
    }

    #[test]
    fn what_is_not_a_number_is_not_a_figure() {
        let times = Times::of_rounds(vec![vec![100.0; 3], vec![100.0; 3]], 0).unwrap();
        assert_eq!(times.figure(|time| (time(1) - time(0)) / (time(1) - time(0))), None);
        assert_eq!(times.time(2), None);
    }
}
