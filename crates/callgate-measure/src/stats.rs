//! Statistics of samples: order statistics, and how far a median is known.
//!
//! The interval of a median comes from the bootstrap (Efron 1979, percentile method): samples are drawn
//! with replacement, and what 95 % of their medians are between is the interval. It assumes nothing about
//! the distribution, which here has a long tail on one side. What happens on a machine lasts, so samples
//! that follow each other are alike: blocks of them are drawn, as long as the third root of their number, and
//! the first follows the last (Politis and Romano 1992). Seeds are fixed, so the same samples give the same interval.

use callgate::random::Rng;

/// Identical subjects differ by so much at best, in nanoseconds; nothing smaller is claimed.
pub const RESOLUTION: f64 = 0.5;

/// The share of batches that may be disturbed. Medians hide them, but the caches that the others leave
/// behind make the next batches slower: with more, results do not repeat.
pub const MAX_DISTURBED: f64 = 0.05;

/// How many times samples are drawn anew.
const RESAMPLES: usize = 1000;

/// The share of medians inside an interval.
const CONFIDENCE: f64 = 0.95;

/// A value and what it is between with 95 % confidence.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The median of the samples.
    pub median: f64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

impl Interval {
    /// Of samples in the order in which they were taken; `None` when there is none.
    pub fn of(samples: &[f64], seed: u64) -> Option<Interval> {
        let median = self::median(samples)?;
        let mut rng = Rng::new(seed);
        let mut drawn = vec![0.0; samples.len()];
        let mut medians = Vec::with_capacity(RESAMPLES);
        let block = (samples.len() as f64).cbrt().round() as usize;
        for _ in 0..RESAMPLES {
            for slots in drawn.chunks_mut(block.max(1)) {
                let start = rng.below(samples.len());
                let block = samples.iter().cycle().skip(start);
                slots.iter_mut().zip(block).for_each(|(slot, sample)| *slot = *sample);
            }
            medians.push(self::median(&drawn)?);
        }
        let tail = (1.0 - CONFIDENCE) / 2.0;
        let (low, high) = (quantile(&medians, tail)?, quantile(&medians, 1.0 - tail)?);
        Some(Interval { median, low, high })
    }

    /// The width of the interval.
    pub fn width(&self) -> f64 {
        self.high - self.low
    }

    /// How wide it may be for the value to be known to this share of itself; a [`RESOLUTION`] is always
    /// enough.
    pub fn tolerance(&self, share: f64) -> f64 {
        (share * self.median.abs()).max(RESOLUTION)
    }

    /// How many times its tolerance it is wide, or identical subjects differed, whichever is more; the
    /// value is known when that is 1 at the most.
    pub fn excess(&self, share: f64, noise: Interval) -> f64 {
        self.width().max(noise.median.abs()) / self.tolerance(share)
    }
}

/// What half of the samples are below.
pub fn median(samples: &[f64]) -> Option<f64> {
    quantile(samples, 0.5)
}

/// The smallest sample.
pub fn minimum(samples: &[f64]) -> Option<f64> {
    samples.iter().copied().min_by(f64::total_cmp)
}

/// What this share of the samples is below, with straight lines between them (type 7 of Hyndman and
/// Fan 1996).
pub fn quantile(samples: &[f64], share: f64) -> Option<f64> {
    let mut sorted = samples.to_vec();
    sorted.sort_by(f64::total_cmp);
    let last = sorted.len().checked_sub(1)?;
    let place = share.clamp(0.0, 1.0) * last as f64;
    let below = *sorted.get(place.floor() as usize)?;
    let above = *sorted.get(place.ceil() as usize)?;
    Some(below + (above - below) * place.fract())
}

/// What a box chart shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The smallest sample.
    pub minimum: f64,
    /// A quarter of the samples is below.
    pub lower: f64,
    /// Half of them.
    pub median: f64,
    /// Three quarters.
    pub upper: f64,
    /// 95 % of them: the end of the whisker.
    pub high: f64,
}

impl Summary {
    /// Of samples; `None` when there is none.
    pub fn of(samples: &[f64]) -> Option<Summary> {
        Some(Summary {
            minimum: minimum(samples)?,
            lower: quantile(samples, 0.25)?,
            median: median(samples)?,
            upper: quantile(samples, 0.75)?,
            high: quantile(samples, 0.95)?,
        })
    }
}

/// The share of samples that are more than half above the median: what was disturbed.
pub fn disturbed(samples: &[f64]) -> Option<f64> {
    let limit = 1.5 * median(samples)?;
    let above = samples.iter().filter(|sample| **sample > limit).count();
    Some(above as f64 / samples.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_known_samples() {
        let samples = [3.0, 1.0, 2.0, 4.0];
        assert_eq!(median(&samples), Some(2.5));
        assert_eq!(quantile(&samples, 0.25), Some(1.75));
        assert_eq!(quantile(&samples, 0.0), Some(1.0));
        assert_eq!(quantile(&samples, 1.0), Some(4.0));
        assert_eq!(minimum(&samples), Some(1.0));
        assert_eq!(median(&[7.0]), Some(7.0));
        assert_eq!((median(&[]), Interval::of(&[], 1)), (None, None));
        assert_eq!(disturbed(&[1.0, 1.0, 1.4, 1.6]), Some(0.0));
        assert_eq!(disturbed(&[1.0, 1.0, 1.0, 1.6]), Some(0.25));
        let summary = Summary::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!((summary.minimum, summary.lower, summary.median), (1.0, 2.0, 3.0));
        assert_eq!((summary.upper, summary.high), (4.0, 4.8));
    }

    #[test]
    fn a_seed_gives_the_same_interval_and_more_samples_a_narrower_one() {
        let samples = |count: usize| -> Vec<f64> {
            let mut rng = Rng::new(3);
            (0..count).map(|_| 100.0 + rng.below(1000) as f64 / 100.0).collect()
        };
        let few = Interval::of(&samples(15), 1).unwrap();
        assert_eq!(Some(few), Interval::of(&samples(15), 1));
        let many = Interval::of(&samples(1500), 1).unwrap();
        assert!(many.width() < few.width() / 3.0, "{few:?} {many:?}");
        assert!(few.low <= few.median && few.median <= few.high);
    }

    /// Uniform samples from 0 to 1 have the median 0.5; 95 % of the intervals should hold it.
    #[test]
    fn intervals_hold_what_they_promise() {
        let mut rng = Rng::new(11);
        let held = (0..400).filter(|seed| {
            let samples: Vec<f64> =
                (0..31).map(|_| rng.below(1 << 20) as f64 / (1 << 20) as f64).collect();
            let interval = Interval::of(&samples, *seed).unwrap();
            interval.low <= 0.5 && 0.5 <= interval.high
        });
        let held = held.count();
        assert!((356..=396).contains(&held), "{held} of 400");
    }
}
