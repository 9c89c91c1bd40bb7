//! The truth: differences between processes of the program in C.

use std::time::{Duration, Instant};

use callgate_bpf::random::Rng;
use callgate_measure::interrupt;
use callgate_measure::stats::Interval;
use callgate_tasks::Result;

use super::c_loop::CLoop;
use super::cases::CBody;

/// The median time of each process, round by round and subject by subject.
#[derive(Default)]
pub(super) struct CSamples {
    rounds: Vec<Vec<f64>>,
}

impl CSamples {
    /// Adds rounds for this time, and until there are at least `least`, unless it is interrupted. A round is a process per
    /// subject, given by its files of filters, in random order.
    pub(super) fn add(
        &mut self,
        c_loop: &CLoop,
        body: &CBody,
        cpu: Option<usize>,
        subjects: &[Vec<String>],
        time: Duration,
        least: usize,
    ) -> Result<()> {
        let start = Instant::now();
        let mut rng = Rng::new(self.rounds.len() as u64);
        let mut order: Vec<usize> = (0..subjects.len()).collect();
        while start.elapsed() < time || self.rounds.len() < least {
            rng.shuffle(&mut order);
            let mut round = vec![0.0; subjects.len()];
            for subject in &order {
                let times = c_loop.run(body, cpu, &subjects[*subject]);
                // Ctrl-C also ends the process that was just running.
                if interrupt::is_requested() {
                    return Ok(());
                }
                round[*subject] = median(&times?);
            }
            self.rounds.push(round);
        }
        Ok(())
    }

    /// These rounds.
    #[cfg(test)]
    pub(super) fn of(rounds: Vec<Vec<f64>>) -> CSamples {
        CSamples { rounds }
    }

    /// The number of rounds.
    pub(super) fn rounds(&self) -> usize {
        self.rounds.len()
    }

    /// The difference of a subject from another one.
    pub(super) fn difference(&self, subject: usize, base: usize) -> Option<Interval> {
        median_interval(self.rounds.iter().map(|round| round[subject] - round[base]).collect())
    }
}

fn median(values: &[f64]) -> f64 {
    callgate_measure::stats::median(values).unwrap_or(f64::NAN)
}

/// The median with the 95 % interval of the sign test, which assumes nothing about the distribution: that many of the samples
/// are below the median as there are heads of as many coins.
fn median_interval(mut samples: Vec<f64>) -> Option<Interval> {
    samples.sort_unstable_by(f64::total_cmp);
    let rank = outer_rank(samples.len())?;
    let (low, high) = (samples[rank], samples[samples.len() - 1 - rank]);
    Some(Interval { median: median(&samples), low, high })
}

/// The number of samples beyond each end of the interval: the most that are beyond it with a probability of at most 2.5 % on
/// each side. `None` if there are too few for that.
fn outer_rank(count: usize) -> Option<usize> {
    // The probability of so many coins alike is 0 in floating point; the normal distribution is as good.
    if count > 1000 {
        let count = count as f64;
        return Some(((count - 1.96 * count.sqrt()) / 2.0) as usize - 1);
    }
    let mut probability = 0.5f64.powi(i32::try_from(count).ok()?);
    let (mut below, mut rank) = (0.0, None);
    for heads in 0..count {
        below += probability;
        if below > 0.025 {
            break;
        }
        rank = Some(heads);
        probability *= (count - heads) as f64 / (heads + 1) as f64;
    }
    rank
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn intervals_are_those_of_the_tables_of_the_sign_test() {
        let ranks = [5, 6, 8, 9, 20, 100, 1000, 1001].map(outer_rank);
        let expected = [None, Some(0), Some(0), Some(1), Some(5), Some(39), Some(468), Some(468)];
        assert_eq!(ranks, expected);
        // Far more than there are exponents of floating point.
        assert_eq!(outer_rank(10_000), Some(4901));
        let samples: Vec<f64> = (1..=9).rev().map(f64::from).collect();
        let interval = median_interval(samples).unwrap();
        assert_eq!((interval.low, interval.median, interval.high), (2.0, 5.0, 8.0));
        assert_eq!(median_interval(vec![1.0; 5]), None);
    }

    #[test]
    fn differences_are_those_within_a_round() {
        // A disturbance of all processes of a round does not count.
        let round = |at: usize| vec![100.0 + 50.0 * at as f64, 130.0 + 50.0 * at as f64];
        let samples = CSamples { rounds: (0..10).map(round).collect() };
        let difference = samples.difference(1, 0).unwrap();
        assert_eq!(difference, Interval { median: 30.0, low: 30.0, high: 30.0 });
        assert_eq!(CSamples::default().difference(1, 0), None);
    }
}
