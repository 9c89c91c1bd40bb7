//! Measures subjects in rounds, and estimates overheads from the samples.
//!
//! A round is one process per subject, in an order that changes with the round, so that disturbances affect all
//! subjects alike. Each process measures every body in short batches; the median of its batches is one sample. The
//! overhead of a subject is the difference from "no filter" in the same round. The estimate is the median of these
//! differences over all rounds, with its confidence interval. The sampling unit is the round, not the batch, because memory
//! is at different addresses in each process, which shifts all of its batches in the same direction.
//!
//! "No filter" is measured twice in each round. The difference between the two is the noise floor.

use std::time::{Duration, Instant};

use callgate_bpf::random::Rng;

use crate::body::Body;
use crate::interrupt;
use crate::stats::{self, Interval, STATE_OF_TIME, States, Summary};
use crate::subject::{Subject, Treatment};
use crate::worker::{self, Batches, MeasureError};

/// The number of rounds between two computations of the confidence intervals, which take as long as a round.
const CHECKED_EVERY: usize = 10;

/// The subjects and bodies to measure, and when to stop.
#[derive(Clone, Debug)]
pub struct Plan {
    /// The subjects. The first is the baseline: no filter.
    pub subjects: Vec<Subject>,
    /// The loop bodies that each subject executes.
    pub bodies: Vec<Body>,
    /// If given, the result is this mean over the bodies.
    pub mean: Option<Mean>,
    /// The batches of each process.
    pub batches: Batches,
    /// The minimum number of rounds, even if the time is over.
    pub min_rounds: usize,
    /// The maximum number of rounds.
    pub max_rounds: usize,
    /// The time, with that of the report: no round starts if it would probably not suffice.
    pub time: Duration,
    /// The relative precision. After `min_rounds` and a third of the time, measuring stops when the confidence intervals
    /// of all overheads are at most this share of the overhead, or [`stats::RESOLUTION`]; 0 for never. With a mean, only
    /// its overheads count: rare bodies may be imprecise.
    pub precision: f64,
    /// The seed of the order of subjects.
    pub seed: u64,
}

impl Plan {
    /// Whether a subject denies a body, so that the kernel skips it. Its time then says nothing about the filter's cost.
    pub fn is_denied(&self, subject: usize, body: usize) -> bool {
        let data = self.bodies.get(body).and_then(Body::data);
        let subject = self.subjects.get(subject);
        let treatment = subject.zip(data).map(|(subject, data)| subject.treatment(&data));
        treatment == Some(Treatment::Denied)
    }
}

/// A mean over bodies.
#[derive(Clone, Debug, PartialEq)]
pub struct Mean {
    /// The title in reports.
    pub title: String,
    /// The weights of the bodies, in their order.
    pub weights: Vec<f64>,
}

impl Mean {
    /// The same without the bodies that a subject denies: the mean of all subjects is over the same bodies. Their weight
    /// becomes 0.
    #[must_use]
    pub fn without_denied(mut self, subjects: &[Subject], bodies: &[Body]) -> Mean {
        for (weight, body) in self.weights.iter_mut().zip(bodies) {
            let denies = |subject: &Subject| {
                body.data().is_some_and(|data| subject.treatment(&data) == Treatment::Denied)
            };
            if subjects.iter().any(denies) {
                *weight = 0.0;
            }
        }
        self
    }
}

/// The time of one batch.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct BatchTime {
    /// The round, from 0.
    pub round: usize,
    /// The index of the subject; that after the last is the second "no filter".
    pub subject: usize,
    /// The index of the body.
    pub body: usize,
    /// The batch in its process, from 0.
    pub batch: usize,
    /// Nanoseconds per iteration.
    pub nanoseconds: f64,
}

/// The samples of a measurement.
#[derive(Clone, Debug)]
pub struct Samples {
    /// Nanoseconds per iteration, batch by batch: per subject (with the second "no filter" at the end), body and
    /// round.
    times: Vec<Vec<Vec<Vec<f64>>>>,
    rounds: usize,
    /// Whether a subject denies a body.
    denied: Vec<Vec<bool>>,
    /// Whether Ctrl-C stopped it.
    pub interrupted: bool,
    /// The elapsed time.
    pub elapsed: Duration,
}

/// The estimate for a subject and a body.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Nanoseconds per iteration in the fastest batch.
    pub minimum: f64,
    /// The median over the rounds.
    pub median: f64,
    /// The difference from no filter in the same round.
    pub overhead: Interval,
    /// The same with the interval that the rounds show, for the state in which the machine is now. More rounds make it narrower.
    pub in_rounds: Interval,
    /// The distribution of the batches of all rounds.
    pub spread: Summary,
}

/// Measures; calls `tell` with the share of the work that is done.
///
/// # Errors
/// If a process cannot be started, a filter cannot be installed, or a process ends early.
pub fn measure(plan: &Plan, tell: &mut dyn FnMut(f64)) -> Result<Samples, MeasureError> {
    let start = Instant::now();
    let again = plan.subjects.first();
    let subjects: Vec<&Subject> = plan.subjects.iter().chain(again).collect();
    let times = vec![vec![Vec::new(); plan.bodies.len()]; subjects.len()];
    let bodies = 0..plan.bodies.len();
    let denied = |subject| bodies.clone().map(|body| plan.is_denied(subject, body)).collect();
    let denied = (0..plan.subjects.len()).map(denied).collect();
    let mut samples =
        Samples { times, rounds: 0, denied, interrupted: false, elapsed: Duration::ZERO };
    // Proportional to the number of rounds.
    let mut analysis = Duration::ZERO;
    let mut rng = Rng::new(plan.seed);
    let mut order: Vec<usize> = (0..subjects.len()).collect();
    while samples.rounds < plan.max_rounds {
        let elapsed = start.elapsed();
        // Disturbances last long: a narrow interval after a short time is not reliable.
        let is_due = elapsed >= plan.time / 3 && samples.rounds.is_multiple_of(CHECKED_EVERY);
        let precise = is_due && samples.is_precise(plan.mean.as_ref(), plan.precision);
        let round = elapsed.div_f64(samples.rounds.max(1) as f64);
        if samples.rounds.is_power_of_two() {
            analysis = samples.analysis().div_f64(samples.rounds as f64);
        }
        let is_over = elapsed + round + analysis.mul_f64(samples.rounds as f64) > plan.time;
        if samples.rounds >= plan.min_rounds.max(1) && (is_over || precise) {
            break;
        }
        rng.shuffle(&mut order);
        let mut round = vec![Vec::new(); subjects.len()];
        for (done, at) in order.iter().enumerate() {
            let rounds = samples.rounds as f64 + done as f64 / subjects.len() as f64;
            let by_time = start.elapsed().as_secs_f64() / plan.time.as_secs_f64().max(1e-9);
            let by_rounds = rounds / plan.max_rounds.max(1) as f64;
            tell(by_time.max(by_rounds).min(rounds / plan.min_rounds.max(1) as f64).min(1.0));
            match worker::measure(subjects[*at], &plan.bodies, &plan.batches)? {
                Some(times) => round[*at] = times,
                None => samples.interrupted = true,
            }
            if samples.interrupted || interrupt::is_requested() {
                samples.interrupted = true;
                break;
            }
        }
        if samples.interrupted {
            break;
        }
        // Only complete rounds count.
        for (all, new) in samples.times.iter_mut().zip(round) {
            for (all, new) in all.iter_mut().zip(new) {
                all.push(new);
            }
        }
        samples.rounds += 1;
    }
    samples.elapsed = start.elapsed();
    Ok(samples)
}

impl Samples {
    /// Samples with these nanoseconds per iteration: per subject (with the second "no filter" at the end), body and round.
    #[cfg(test)]
    pub(crate) fn of_times(times: Vec<Vec<Vec<Vec<f64>>>>) -> Samples {
        let rounds = times.iter().flatten().map(Vec::len).next().unwrap_or(0);
        let (denied, elapsed) = (Vec::new(), Duration::ZERO);
        Samples { times, rounds, denied, interrupted: false, elapsed }
    }

    /// About the time that the confidence intervals of a report take.
    fn analysis(&self) -> Duration {
        let start = Instant::now();
        let interval = Interval::of(&self.values(0, 0), 0);
        let one = interval.map_or(Duration::ZERO, |_| start.elapsed());
        let count = self.times.len() * self.times.first().map_or(0, Vec::len);
        one * u32::try_from(count).unwrap_or(u32::MAX)
    }

    /// The number of complete rounds.
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    /// The estimate for a subject and a body of the plan; `None` without a complete round.
    pub fn estimate(&self, subject: usize, body: usize) -> Option<Estimate> {
        let batches = self.times.get(subject)?.get(body)?;
        let all: Vec<f64> = batches.iter().flatten().copied().collect();
        Some(Estimate {
            minimum: stats::minimum(&all)?,
            median: stats::median(&self.values(subject, body))?,
            overhead: self.difference(subject, 0, body)?,
            in_rounds: self.in_rounds(subject, 0, body)?,
            spread: Summary::of(&all)?,
        })
    }

    /// The same for the mean over the bodies with these weights, in their order. The spread is that of the rounds.
    pub fn weighted(&self, subject: usize, weights: &[f64]) -> Option<Estimate> {
        let values = self.means(weights, |body| self.values(subject, body));
        Some(Estimate {
            minimum: stats::minimum(&values)?,
            median: stats::median(&values)?,
            overhead: self.weighted_overhead(subject, weights)?,
            in_rounds: self.weighted_in_rounds(subject, weights)?,
            spread: Summary::of(&values)?,
        })
    }

    /// The noise floor for a body: the second "no filter" minus the first.
    pub fn noise(&self, body: usize) -> Option<Interval> {
        self.difference(self.times.len().checked_sub(1)?, 0, body)
    }

    /// The same for a mean over bodies.
    pub(crate) fn weighted_noise(&self, weights: &[f64]) -> Option<Interval> {
        self.weighted_overhead(self.times.len().checked_sub(1)?, weights)
    }

    fn weighted_overhead(&self, subject: usize, weights: &[f64]) -> Option<Interval> {
        let time = stats::median(&self.means(weights, |body| self.values(0, body)))?;
        let in_rounds = self.weighted_in_rounds(subject, weights)?;
        let states = self.states(0, weights);
        Some(if subject == 0 { in_rounds } else { in_rounds.in_any_state(time, states) })
    }

    /// As [`Samples::weighted_overhead`], with the interval that the rounds show.
    fn weighted_in_rounds(&self, subject: usize, weights: &[f64]) -> Option<Interval> {
        let overheads = self.means(weights, |body| self.overheads(subject, body));
        Interval::of(&overheads, seed(subject, weights.len()))
    }

    /// How much was measured: label and text.
    pub fn facts(&self, batches: &Batches) -> [(&'static str, String); 2] {
        let measured = format!(
            "{} rounds of {} batches of {} syscalls in {:.1} s",
            self.rounds(),
            batches.count,
            batches.iterations,
            self.elapsed.as_secs_f64()
        );
        [
            ("measured", measured),
            ("outliers", format!("{:.1} % of the batches", self.outliers() * 100.0)),
        ]
    }

    /// The number of subjects, without the second "no filter".
    pub fn subjects(&self) -> usize {
        self.times.len().saturating_sub(1)
    }

    /// The share of a subject's mean overhead that another one saves, as the negative change: -0.29 if `after` costs 29 %
    /// less than `before`. The overhead is that over the subject `base`, in the same round. `None` if the overhead of
    /// `before`, or the difference, is not [resolved](Interval::is_resolved).
    pub fn change(
        &self,
        (before, after): (usize, usize),
        base: usize,
        weights: &[f64],
    ) -> Option<Interval> {
        let mean = |subject| self.means(weights, |body| self.values(subject, body));
        let over_base = |subject| -> Vec<f64> {
            mean(subject).iter().zip(mean(base)).map(|(own, base)| own - base).collect()
        };
        let seed = seed(before << 16 | after, weights.len());
        let (before, after) = (over_base(before), over_base(after));
        let differences: Vec<f64> =
            before.iter().zip(&after).map(|(before, after)| before - after).collect();
        let time = stats::median(&mean(base))?;
        let states = self.states(base, weights);
        let overhead = Interval::of(&before, seed)?.in_any_state(time, states);
        let saved = Interval::of(&differences, seed)?.in_any_state(time, states);
        let noise = self.weighted_noise(weights)?;
        if overhead.low <= 0.0 || !overhead.is_resolved(noise) || !saved.is_resolved(noise) {
            return None;
        }
        let changes = before.iter().zip(&after).map(|(before, after)| after / before - 1.0);
        let change = Interval::of(&changes.collect::<Vec<f64>>(), seed)?;
        // What another state adds to both overheads, by the same share, does not change their ratio.
        Some(change.with_error(STATE_OF_TIME * time / overhead.median))
    }

    /// The times of all batches.
    pub fn batch_times(&self) -> impl Iterator<Item = BatchTime> {
        self.times.iter().enumerate().flat_map(|(subject, bodies)| {
            bodies.iter().enumerate().flat_map(move |(body, rounds)| {
                rounds.iter().enumerate().flat_map(move |(round, times)| {
                    times.iter().enumerate().map(move |(batch, nanoseconds)| BatchTime {
                        round,
                        subject,
                        body,
                        batch,
                        nanoseconds: *nanoseconds,
                    })
                })
            })
        })
    }

    /// The share of outliers among the batches without a filter.
    pub fn outliers(&self) -> f64 {
        let bodies = self.times.first().into_iter().flatten();
        let shares: Vec<f64> = bodies
            .filter_map(|rounds| {
                stats::outliers(&rounds.iter().flatten().copied().collect::<Vec<_>>())
            })
            .collect();
        shares.iter().sum::<f64>() / shares.len().max(1) as f64
    }

    /// The batches of each round.
    pub fn batches(&self, subject: usize, body: usize) -> &[Vec<f64>] {
        self.times.get(subject).and_then(|bodies| bodies.get(body)).map_or(&[], Vec::as_slice)
    }

    /// One sample per round: the median of its batches.
    pub fn values(&self, subject: usize, body: usize) -> Vec<f64> {
        let rounds = self.times.get(subject).and_then(|bodies| bodies.get(body));
        rounds.into_iter().flatten().filter_map(|batches| stats::median(batches)).collect()
    }

    /// The difference of a subject from another one in the same round, [in any state](Interval::in_any_state) of the machine.
    pub fn difference(&self, subject: usize, base: usize, body: usize) -> Option<Interval> {
        let time = stats::median(&self.values(base, body))?;
        let in_rounds = self.in_rounds(subject, base, body)?;
        let mut only = vec![0.0; body];
        only.push(1.0);
        let states = self.states(base, &only);
        Some(if subject == base { in_rounds } else { in_rounds.in_any_state(time, states) })
    }

    /// The states of the machine that the batches of a subject show, of those bodies that have a weight: each batch over the median of its
    /// body.
    pub fn states(&self, subject: usize, weights: &[f64]) -> States {
        let weighted = weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0);
        let relative = weighted.flat_map(|(body, _)| {
            let times: Vec<f64> = self.batches(subject, body).iter().flatten().copied().collect();
            let median = stats::median(&times).unwrap_or(f64::NAN);
            times.into_iter().map(move |time| time / median)
        });
        States::seen(&relative.filter(|ratio| ratio.is_finite()).collect::<Vec<_>>())
    }

    /// The same with the interval that the rounds show.
    fn in_rounds(&self, subject: usize, base: usize, body: usize) -> Option<Interval> {
        Interval::of(&self.differences(subject, base, body), seed(subject, body))
    }

    fn differences(&self, subject: usize, base: usize, body: usize) -> Vec<f64> {
        let (own, base) = (self.values(subject, body), self.values(base, body));
        own.iter().zip(&base).map(|(own, base)| own - base).collect()
    }

    /// One difference from "no filter" per round.
    fn overheads(&self, subject: usize, body: usize) -> Vec<f64> {
        self.differences(subject, 0, body)
    }

    fn means(&self, weights: &[f64], of: impl Fn(usize) -> Vec<f64>) -> Vec<f64> {
        let sum: f64 = weights.iter().sum();
        let mut means = vec![0.0; self.rounds];
        for (body, weight) in weights.iter().enumerate() {
            for (mean, value) in means.iter_mut().zip(of(body)) {
                *mean += value * weight / sum;
            }
        }
        means
    }

    /// Whether the rounds show the overheads of all subjects with this relative precision: the overhead of the mean, or of each
    /// body if there is no mean. More rounds cannot show more than that.
    fn is_precise(&self, mean: Option<&Mean>, precision: f64) -> bool {
        let is_known = |noise: Option<Interval>,
                        denied: &dyn Fn(usize) -> bool,
                        overhead: &dyn Fn(usize) -> Option<Interval>| {
            noise.is_some_and(|noise| {
                let subjects = 1..self.times.len().saturating_sub(1);
                subjects.filter(|subject| !denied(*subject)).all(|subject| {
                    overhead(subject).is_some_and(|own| own.excess(precision, noise) <= 1.0)
                })
            })
        };
        let bodies = self.times.first().map_or(0, Vec::len);
        precision > 0.0
            && match mean {
                Some(Mean { weights, .. }) => {
                    let last = self.times.len().saturating_sub(1);
                    is_known(self.weighted_in_rounds(last, weights), &|_| false, &|subject| {
                        self.weighted_in_rounds(subject, weights)
                    })
                }
                None => (0..bodies).all(|body| {
                    let denied = |subject: usize| {
                        self.denied.get(subject).and_then(|bodies| bodies.get(body)) == Some(&true)
                    };
                    let last = self.times.len().saturating_sub(1);
                    is_known(self.in_rounds(last, 0, body), &denied, &|subject| {
                        self.in_rounds(subject, 0, body)
                    })
                }),
            }
    }
}

fn seed(subject: usize, body: usize) -> u64 {
    (subject as u64) << 32 | body as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Samples of "no filter", one filter, and the second "no filter", with these constant times.
    fn steady(nanoseconds: [f64; 3]) -> Samples {
        steady_bodies(nanoseconds.map(|time| vec![time]))
    }

    /// The same with a time for each body.
    fn steady_bodies(nanoseconds: [Vec<f64>; 3]) -> Samples {
        let body = |time: &f64| vec![vec![*time; 3]; 20];
        let times = nanoseconds.map(|bodies| bodies.iter().map(body).collect()).to_vec();
        let denied = Vec::new();
        Samples { times, rounds: 20, denied, interrupted: false, elapsed: Duration::ZERO }
    }

    #[test]
    fn overheads_are_not_precise_while_identical_subjects_differ() {
        assert!(steady([100.0, 200.0, 102.0]).is_precise(None, 0.03));
        assert!(!steady([100.0, 200.0, 104.0]).is_precise(None, 0.03));
        assert!(!steady([100.0, 200.0, 100.0]).is_precise(None, 0.0), "0 is for never");
    }

    #[test]
    fn a_mean_is_precise_though_a_rare_syscall_is_not() {
        // The second body differs by 50 ns between identical subjects.
        let samples = steady_bodies([vec![100.0, 100.0], vec![200.0, 200.0], vec![100.0, 150.0]]);
        let mean = |rare| Mean { title: "mean".to_owned(), weights: vec![1.0 - rare, rare] };
        assert!(!samples.is_precise(None, 0.03));
        assert!(samples.is_precise(Some(&mean(0.01)), 0.03));
        assert!(!samples.is_precise(Some(&mean(0.1)), 0.03));
        assert!(!samples.is_precise(Some(&mean(0.01)), 0.0), "0 is for never");
    }

    #[test]
    fn denied_syscalls_need_not_be_precise() {
        let noisy = steady([100.0, 200.0, 150.0]);
        assert!(!noisy.is_precise(None, 0.03));
        let denied = vec![vec![false], vec![true]];
        assert!(Samples { denied, ..noisy }.is_precise(None, 0.03));
    }

    #[test]
    fn the_change_is_that_of_the_overhead() {
        let times = [100.0, 120.0, 150.0, 135.0, 100.0];
        let times = times.map(|time| vec![vec![vec![time; 3]; 20]]).to_vec();
        let samples = Samples { times, ..steady([1.0; 3]) };
        assert_eq!(samples.change((1, 2), 1, &[1.0]), None, "nothing costs more than itself");
        let change = |pair, base| samples.change(pair, base, &[1.0]).unwrap().median;
        assert!((change((2, 3), 0) + 0.3).abs() < 1e-9);
        assert!((change((2, 3), 1) + 0.5).abs() < 1e-9);
        assert!((change((3, 2), 0) - 3.0 / 7.0).abs() < 1e-9);
    }

    #[test]
    fn every_batch_is_listed_once() {
        let samples = steady([100.0, 200.0, 104.0]);
        let all: Vec<BatchTime> = samples.batch_times().collect();
        assert_eq!(all.len(), 3 * 20 * 3);
        let last = BatchTime { round: 19, subject: 2, body: 0, batch: 2, nanoseconds: 104.0 };
        assert_eq!(all.last(), Some(&last));
    }
}
