//! The results of a workload's rounds.

use std::time::Duration;

use callgate_measure::stats::{self, Interval};

/// The results of all rounds.
#[derive(Clone, Debug)]
pub struct Runs {
    /// The throughput in each round, per variant (with the second "no filter" at the end) and measure.
    pub(super) values: Vec<Vec<Vec<f64>>>,
    pub(super) measures: Vec<Measure>,
    pub(super) rounds: usize,
    /// Whether Ctrl-C stopped it.
    pub interrupted: bool,
    /// The elapsed time, including starts and stops.
    pub elapsed: Duration,
}

/// A measure: a kind of request, or the CPU time.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Measure {
    /// The name, such as a kind of request.
    pub name: &'static str,
    /// The unit of throughput.
    pub unit: String,
}

/// The result of a variant in a measure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measured {
    /// The median throughput of its rounds, in [`Measure::unit`].
    pub throughput: f64,
    /// Its throughput over that of the first variant in the same round.
    pub ratio: Interval,
}

/// The value of a measure in one round.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RunSample {
    /// The round, from 0.
    pub round: usize,
    /// The index of the variant; that after the last is the second "no filter".
    pub variant: usize,
    /// The index of the measure.
    pub measure: usize,
    /// The value, in [`Measure::unit`].
    pub value: f64,
}

impl Runs {
    /// All values, round by round.
    pub fn samples(&self) -> impl Iterator<Item = RunSample> {
        let measures = (0..self.values.len()).flat_map(move |variant| {
            (0..self.measures.len()).map(move |measure| (variant, measure))
        });
        (0..self.rounds).flat_map(move |round| {
            measures.clone().filter_map(move |(variant, measure)| {
                let value = *self.values.get(variant)?.get(measure)?.get(round)?;
                Some(RunSample { round, variant, measure, value })
            })
        })
    }

    /// The number of complete rounds.
    pub fn rounds(&self) -> usize {
        self.rounds
    }

    /// The measures: those of the client, then the throughput per second of CPU time.
    ///
    /// The CPU time is that of the processes under the filter, user and system, while the client ran. Other processes of
    /// the machine disturb it less than the elapsed time.
    pub fn measures(&self) -> &[Measure] {
        &self.measures
    }

    /// The result of a variant in a measure, given by their indices; `None` without a complete round.
    pub fn measured(&self, variant: usize, measure: usize) -> Option<Measured> {
        let throughput = stats::median(self.values.get(variant)?.get(measure)?)?;
        Some(Measured { throughput, ratio: self.ratio(variant, 0, measure)? })
    }

    /// The result of the second run of the first variant in each round. Its ratio would be 1 without noise.
    pub fn noise(&self, measure: usize) -> Option<Measured> {
        self.measured(self.values.len().checked_sub(1)?, measure)
    }

    /// The throughput of a variant over that of another in the same round.
    pub fn ratio(&self, variant: usize, other: usize, measure: usize) -> Option<Interval> {
        let values = |variant: usize| self.values.get(variant)?.get(measure);
        let (own, other) = (values(variant)?, values(other)?);
        let ratios: Vec<f64> = own.iter().zip(other).map(|(own, other)| own / other).collect();
        Interval::of(&ratios, (variant as u64) << 32 | measure as u64)
    }

    /// The width of the widest interval of a ratio, with its variant and measure.
    pub fn widest(&self) -> Option<(f64, usize, usize)> {
        let variants = 1..self.values.len().saturating_sub(1);
        let all = variants
            .flat_map(|variant| (0..self.measures.len()).map(move |measure| (variant, measure)));
        let widths = all.filter_map(|(variant, measure)| {
            Some((self.ratio(variant, 0, measure)?.width(), variant, measure))
        });
        widths.max_by(|a, b| a.0.total_cmp(&b.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_are_those_of_the_same_round() {
        // The machine got twice as fast in the second round, the variants did not.
        let values = vec![
            vec![vec![100.0, 200.0, 100.0]],
            vec![vec![90.0, 180.0, 90.0]],
            vec![vec![100.0, 210.0, 99.0]],
        ];
        let runs = Runs {
            values,
            measures: vec![Measure { name: "GET", unit: "requests/s".into() }],
            rounds: 3,
            interrupted: false,
            elapsed: Duration::ZERO,
        };
        let own = runs.measured(1, 0).unwrap();
        assert_eq!((own.throughput, own.ratio.median, own.ratio.width()), (90.0, 0.9, 0.0));
        assert_eq!(runs.noise(0).unwrap().ratio.median, 1.0);
        assert_eq!(runs.ratio(0, 1, 0).unwrap().median, 100.0 / 90.0);
        assert_eq!(runs.widest(), Some((0.0, 1, 0)));
        assert_eq!(runs.measured(1, 1), None);
        let samples: Vec<RunSample> = runs.samples().collect();
        assert_eq!(samples.len(), 9);
        assert_eq!(samples[5], RunSample { round: 1, variant: 2, measure: 0, value: 210.0 });
    }
}
