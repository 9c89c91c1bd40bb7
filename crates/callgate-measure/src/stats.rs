//! Statistics of samples: order statistics, and confidence intervals of medians.
//!
//! A confidence interval contains two, which both assume nothing about the distribution; here it has a long tail on one side.
//!
//! - The bootstrap (Efron 1979, percentile method). Successive samples are correlated, because disturbances last longer
//!   than a sample. So blocks are resampled (circular block bootstrap, Politis and Romano 1992), whose length is the cube root
//!   of the number of samples. Seeds are fixed: the same samples give the same interval.
//! - The sign test: a sample is below the median as often as a coin shows heads. On a busy machine there are few rounds, and
//!   resamples of few samples are too much alike: in simulations with normal samples, the bootstrap alone contained the median
//!   in 74 % of the intervals of 3 samples, 85 % of 8 and 91 % of 40, instead of 95 %.
//!
//! Five samples do not suffice for the sign test: all of them are on the same side of the median in 6 % of the cases. Then
//! the interval is that of Student's t (1908) around the median, at least from the smallest to the largest sample. One sample
//! has no interval: it is unbounded.
//!
//! A [ratio of sums](ratio) has the interval of Student's t for the linearized ratio (Cochran, Sampling Techniques, 1977, 6.4).
//! If a figure has two sources of error that are independent, each with an interval, the distance of a bound is the root of the
//! sum of the squares of both distances ([`Interval::with_error_of`]; Zou and Donner 2008, the method of variance estimates
//! recovery).

use callgate_bpf::random::Rng;

/// The smallest difference that is reported as resolved, in nanoseconds: identical subjects differ by as much.
pub const RESOLUTION: f64 = 0.5;

/// A figure is rough if half of its interval is more than this share of it and more than this number of nanoseconds. A figure that
/// is not rough must be as close to the truth in `cargo lab truth`.
const ROUGH_SHARE: f64 = 0.1;
const ROUGH_NANOSECONDS: f64 = 3.0;

/// What rounds do not show: a machine is in one state for seconds, and in another one an hour later, because of its clock and
/// of what others do with the same cores and caches. A difference of times is then another one by at least this share of itself
/// (more if [batches differ](States)), and by [a share](STATE_OF_TIME) of the time from which it is a difference. `cargo lab truth`
/// measures both: with them, most intervals of five seconds contain what is measured in an hour.
pub const STATE: f64 = 0.05;
/// The share of the time from which it is a difference, see [`STATE`].
pub const STATE_OF_TIME: f64 = 0.025;

/// The share of the batches that are faster, and that are slower, than those that count for [`States`].
const BEYOND_STATES: f64 = 0.02;

/// By which shares all times may be longer or shorter in another state of the machine that batches show, besides [`STATE`].
///
/// If a machine has a fast and a slow state, because another one has the other half of the same core, some milliseconds of any few
/// seconds are in the other state, even if most of an hour is in neither. In both, the costs of filters differ by the same factor as the
/// time without a filter. So the range of the batches without a filter is what a difference may be in the other state.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct States {
    /// At least 0.
    pub longer: f64,
    /// At least 0.
    pub shorter: f64,
}

impl States {
    /// Those that these times of the same work show, which need not be in any order.
    pub fn seen(times: &[f64]) -> States {
        let of = |share: f64| quantile(times, share).zip(median(times)).filter(|pair| pair.1 > 0.0);
        let ratio = |share: f64| of(share).map_or(1.0, |(time, median)| time / median);
        States { longer: ratio(1.0 - BEYOND_STATES) - 1.0, shorter: 1.0 - ratio(BEYOND_STATES) }
    }
}

/// The number of bootstrap resamples.
const RESAMPLES: usize = 1000;

/// The confidence level.
const CONFIDENCE: f64 = 0.95;

/// The 97.5 % quantiles of Student's distribution for 2 to 31 samples.
#[rustfmt::skip]
const STUDENT: [f64; 30] = [
    12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228,
    2.201, 2.179, 2.160, 2.145, 2.131, 2.120, 2.110, 2.101, 2.093, 2.086,
    2.080, 2.074, 2.069, 2.064, 2.060, 2.056, 2.052, 2.048, 2.045, 2.042,
];

/// The least number of samples for the sign test.
const FEWEST_FOR_RANKS: usize = 6;

/// The 97.5 % quantile of Student's distribution for a number of samples, infinite for less than 2. Above 31, that of 31.
fn student(samples: usize) -> f64 {
    let at = samples.checked_sub(2).map(|at| at.min(STUDENT.len() - 1));
    at.and_then(|at| STUDENT.get(at)).copied().unwrap_or(f64::INFINITY)
}

/// A median and its 95 % confidence interval, which is unbounded if it is not known.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Interval {
    /// The median of the samples, or another [estimate](ratio).
    pub median: f64,
    /// The lower bound.
    pub low: f64,
    /// The upper bound.
    pub high: f64,
}

impl Interval {
    /// The median of samples in the order in which they were taken; `None` without samples.
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
        let (low, high) = by_rank(samples, median)?;
        let low = low.min(quantile(&medians, tail)?);
        Some(Interval { median, low, high: high.max(quantile(&medians, 1.0 - tail)?) })
    }

    /// The interval of the same figure if it also has the error of another estimate of it, which is independent of the
    /// error of this one. The median remains.
    #[must_use]
    pub fn with_error_of(self, other: Interval) -> Interval {
        let below = (self.median - self.low).hypot(other.median - other.low);
        let above = (self.high - self.median).hypot(other.high - other.median);
        Interval { low: self.median - below, high: self.median + above, ..self }
    }

    /// The interval of a difference of times if the machine may be in another state; `time` is that from which it is a
    /// difference. The states that batches show are not an error that may be the opposite of another one: they are added.
    #[must_use]
    pub fn in_any_state(self, time: f64, states: States) -> Interval {
        let unseen = (STATE * self.median).hypot(STATE_OF_TIME * time);
        let (more, less) = (states.longer * self.median, -states.shorter * self.median);
        let Interval { median, low, high } = self.symmetric().with_error(unseen);
        Interval { median, low: low + more.min(less), high: high + more.max(less) }
    }

    /// As [`Interval::with_error_of`], for an error of this much to both sides.
    #[must_use]
    pub fn with_error(self, by: f64) -> Interval {
        let Interval { median, .. } = self;
        self.with_error_of(Interval { median, low: median - by, high: median + by })
    }

    /// The interval if the figure may be larger or smaller by this much for a reason that samples do not show.
    #[must_use]
    pub fn widened(self, by: f64) -> Interval {
        Interval { low: self.low - by, high: self.high + by, ..self }
    }

    /// As far to both sides as to the farther one. The median of few rounds of which some are in another state is close to most of
    /// them, in the wrong state as often as in the right one.
    #[must_use]
    pub fn symmetric(self) -> Interval {
        let by = (self.high - self.median).max(self.median - self.low);
        Interval { low: self.median - by, high: self.median + by, ..self }
    }

    /// All numbers times a factor that is not negative.
    #[must_use]
    pub fn scaled(self, factor: f64) -> Interval {
        let Interval { median, low, high } = self;
        Interval { median: median * factor, low: low * factor, high: high * factor }
    }

    /// Whether it is bounded: there was more than one sample.
    pub fn is_known(&self) -> bool {
        self.width().is_finite()
    }

    /// Both bounds with this number of decimals and a text between them, or `unknown`.
    pub fn bounds(&self, digits: usize, to: &str) -> String {
        match self.is_known() {
            true => format!("{:.digits$} {to} {:.digits$}", self.low, self.high),
            false => "unknown".to_owned(),
        }
    }

    /// The width of the interval.
    pub fn width(&self) -> f64 {
        self.high - self.low
    }

    /// Whether a difference is resolved: 0 is not in its interval, and identical subjects differ by less. `noise` is the
    /// interval of their difference.
    pub fn is_resolved(&self, noise: Interval) -> bool {
        let is_one_sided = self.low > 0.0 || self.high < 0.0;
        is_one_sided && self.median.abs() > noise.low.abs().max(noise.high.abs())
    }

    /// Whether a difference in nanoseconds is known to no better than 10 % or 3 ns.
    pub fn is_rough(&self) -> bool {
        self.width() / 2.0 > (self.median.abs() * ROUGH_SHARE).max(ROUGH_NANOSECONDS)
    }

    /// What is said beside an overhead: `not resolved`, `rough`, or nothing.
    pub fn remark(&self, noise: Interval) -> &'static str {
        match (self.is_resolved(noise), self.is_rough()) {
            (false, _) => "not resolved",
            (true, true) => "rough",
            (true, false) => "",
        }
    }

    /// The largest width at which the median has this relative precision, at least [`RESOLUTION`].
    pub fn tolerance(&self, share: f64) -> f64 {
        (share * self.median.abs()).max(RESOLUTION)
    }

    /// The width, or the noise floor if that is larger, in multiples of the tolerance; the median is precise if this
    /// is at most 1.
    pub fn excess(&self, share: f64, noise: Interval) -> f64 {
        self.width().max(noise.median.abs()) / self.tolerance(share)
    }
}

/// The interval of the median from the order of the samples, or from their deviation if they are too few.
fn by_rank(samples: &[f64], median: f64) -> Option<(f64, f64)> {
    let mut sorted = samples.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let beyond = samples_beyond(sorted.len());
    let (low, high) = (sorted.get(beyond)?, sorted.iter().nth_back(beyond)?);
    let count = sorted.len() as f64;
    match sorted.len() {
        1 => return Some((f64::NEG_INFINITY, f64::INFINITY)),
        FEWEST_FOR_RANKS.. => return Some((*low, *high)),
        _ => {}
    }
    let mean = sorted.iter().sum::<f64>() / count;
    let squares = sorted.iter().map(|sample| (sample - mean).powi(2)).sum::<f64>();
    let half = student(sorted.len()) * (squares / (count - 1.0) / count).sqrt();
    Some((low.min(median - half), high.max(median + half)))
}

/// The sum of the first numbers over that of the second ones, with its 95 % confidence interval, for pairs from windows that are
/// alike and independent: syscalls and seconds, for example. `None` if the second sum is not positive; unbounded for one pair.
///
/// It is not the median of the ratios: a window in which little happened has little weight.
pub fn ratio(pairs: &[(f64, f64)]) -> Option<Interval> {
    let sum = |of: fn(&(f64, f64)) -> f64| pairs.iter().map(of).sum::<f64>();
    let (upper, lower) = (sum(|pair| pair.0), sum(|pair| pair.1));
    if lower <= 0.0 {
        return None;
    }
    let (ratio, count) = (upper / lower, pairs.len() as f64);
    let squares = pairs.iter().map(|(upper, lower)| (upper - ratio * lower).powi(2)).sum::<f64>();
    let half = match pairs.len() {
        1 => f64::INFINITY,
        _ => student(pairs.len()) * (squares * count / (count - 1.0)).sqrt() / lower,
    };
    Some(Interval { median: ratio, low: ratio - half, high: ratio + half })
}

/// How many samples are beyond each bound: the most that are on that side of the median with a probability of at most 2.5 %.
/// 0 if there are too few samples for that.
fn samples_beyond(count: usize) -> usize {
    // Underflows to 0 for more than 1074 samples; a thousandth more or less does not matter there.
    if count > 1000 {
        let count = count as f64;
        return ((count - 1.96 * count.sqrt()) / 2.0).floor() as usize;
    }
    let mut probability = 0.5f64.powi(count as i32);
    let (mut sum, mut beyond) = (0.0, 0);
    for number in 0..count {
        sum += probability;
        if sum > (1.0 - CONFIDENCE) / 2.0 {
            break;
        }
        // With 0 beyond, the outermost sample is the bound.
        beyond = number;
        probability *= (count - number) as f64 / (number + 1) as f64;
    }
    beyond
}

/// The median.
pub fn median(samples: &[f64]) -> Option<f64> {
    quantile(samples, 0.5)
}

/// The smallest sample.
pub fn minimum(samples: &[f64]) -> Option<f64> {
    samples.iter().copied().min_by(f64::total_cmp)
}

/// A quantile, with linear interpolation (type 7 of Hyndman and Fan 1996).
pub(crate) fn quantile(samples: &[f64], share: f64) -> Option<f64> {
    let mut samples = samples.to_vec();
    let last = samples.len().checked_sub(1)?;
    let place = share.clamp(0.0, 1.0) * last as f64;
    // Without sorting, because bootstrapping takes a thousand medians of all samples.
    let (_, below, others) = samples.select_nth_unstable_by(place.floor() as usize, f64::total_cmp);
    let above = others.iter().copied().min_by(f64::total_cmp).filter(|_| place.fract() > 0.0);
    Some(*below + (above.unwrap_or(*below) - *below) * place.fract())
}

/// The values of a box plot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Summary {
    /// The smallest sample.
    pub minimum: f64,
    /// The first quartile.
    pub lower: f64,
    /// The median.
    pub median: f64,
    /// The third quartile.
    pub upper: f64,
    /// The end of the upper whisker: the 95th percentile of batches, or the largest run.
    pub high: f64,
}

impl Summary {
    /// The box of batches, up to the 95th percentile; `None` without samples.
    pub fn of(samples: &[f64]) -> Option<Summary> {
        Summary::up_to(0.95, samples)
    }

    /// The box of a few runs, up to the largest; `None` without samples.
    pub fn of_runs(samples: &[f64]) -> Option<Summary> {
        Summary::up_to(1.0, samples)
    }

    fn up_to(whisker: f64, samples: &[f64]) -> Option<Summary> {
        Some(Summary {
            minimum: minimum(samples)?,
            lower: quantile(samples, 0.25)?,
            median: median(samples)?,
            upper: quantile(samples, 0.75)?,
            high: quantile(samples, whisker)?,
        })
    }

    /// The box drawn in `width` characters for a scale from `low` to `high`: `|---[==|==]-----|`.
    pub fn drawn(&self, low: f64, high: f64, width: usize) -> String {
        let last = width.saturating_sub(1) as f64;
        let place = |value: f64| {
            let share = (value - low) / (high - low).max(f64::MIN_POSITIVE);
            (share.clamp(0.0, 1.0) * last).round() as usize
        };
        let [start, lower, middle, upper, end] =
            [self.minimum, self.lower, self.median, self.upper, self.high].map(place);
        let char_at = |at: usize| match at {
            at if at == middle => '|',
            at if at == lower => '[',
            at if at == upper => ']',
            at if at == start || at == end => '|',
            at if lower < at && at < upper => '=',
            at if start < at && at < end => '-',
            _ => ' ',
        };
        (0..width).map(char_at).collect::<String>().trim_end().to_owned()
    }
}

/// The share of outliers: samples above 1.5 times the median.
pub fn outliers(samples: &[f64]) -> Option<f64> {
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
        assert_eq!(outliers(&[1.0, 1.0, 1.4, 1.6]), Some(0.0));
        assert_eq!(outliers(&[1.0, 1.0, 1.0, 1.6]), Some(0.25));
        let summary = Summary::of(&[1.0, 2.0, 3.0, 4.0, 5.0]).unwrap();
        assert_eq!((summary.minimum, summary.lower, summary.median), (1.0, 2.0, 3.0));
        assert_eq!((summary.upper, summary.high), (4.0, 4.8));
    }

    #[test]
    fn a_machine_in_two_states_has_a_wide_interval_in_both() {
        // A tenth of the batches are in the other state.
        let times = |most: f64, few: f64| [vec![most; 36], vec![few; 4]].concat();
        let (fast, slow) = (States::seen(&times(200.0, 280.0)), States::seen(&times(280.0, 200.0)));
        assert_eq!(fast, States { longer: 280.0 / 200.0 - 1.0, shorter: 0.0 });
        assert_eq!(slow, States { longer: 0.0, shorter: 1.0 - 200.0 / 280.0 });
        // A filter that costs 50 ns in the fast state and 70 in the slow one.
        let exact = |median: f64| Interval { median, low: median, high: median };
        let in_fast = exact(50.0).in_any_state(200.0, fast);
        let in_slow = exact(70.0).in_any_state(280.0, slow);
        let unseen = (STATE * 50.0).hypot(STATE_OF_TIME * 200.0);
        assert!((in_fast.low - (50.0 - unseen)).abs() < 1e-9, "{in_fast:?}");
        assert!((in_fast.high - (70.0 + unseen)).abs() < 1e-9, "{in_fast:?}");
        assert!(in_slow.high > 77.0 && in_slow.high < 79.0 && in_slow.low < 50.0, "{in_slow:?}");
        // What is saved is less in the fast state.
        let saved = exact(-50.0).in_any_state(200.0, fast);
        assert_eq!((saved.low, saved.high), (-in_fast.high, -in_fast.low));
        // An error of the rounds is added to the states, not compensated by them, and may be one to the other side.
        let rounds = Interval { median: 50.0, low: 30.0, high: 51.0 };
        assert!(rounds.in_any_state(200.0, fast).high > 90.0);
        let one = States { longer: 0.0, shorter: 0.0 };
        assert_eq!((States::seen(&[100.0; 3]), States::seen(&[])), (one, one));
    }

    #[test]
    fn a_box_has_its_five_numbers_in_place() {
        let five = Summary::of_runs(&[0.0, 10.0, 20.0, 30.0, 40.0]).unwrap();
        assert_eq!((five.minimum, five.lower, five.median), (0.0, 10.0, 20.0));
        assert_eq!((five.upper, five.high), (30.0, 40.0));
        assert_eq!(five.drawn(0.0, 40.0, 41), "|---------[=========|=========]---------|");
        assert_eq!(five.drawn(-40.0, 40.0, 17), "        |-[=|=]-|");
        assert_eq!(Summary::of_runs(&[]), None);
    }

    #[test]
    fn equal_samples_are_one_mark() {
        let five = Summary::of_runs(&[3.0; 4]).unwrap();
        assert_eq!(five.drawn(3.0, 3.0, 10), "|");
        assert_eq!(five.drawn(0.0, 6.0, 7), "   |");
    }

    #[test]
    fn a_difference_is_resolved_when_identical_subjects_differ_by_less() {
        let interval = |low, median, high| Interval { low, median, high };
        let quiet = interval(-2.0, 1.0, 3.0);
        assert!(interval(3.0, 5.0, 7.0).is_resolved(quiet));
        assert!(interval(-7.0, -5.0, -3.0).is_resolved(quiet));
        assert!(!interval(-0.1, 5.0, 7.0).is_resolved(quiet), "0 is inside");
        assert!(!interval(1.0, 2.9, 4.0).is_resolved(quiet), "identical subjects differ by 3");
        let noisy = interval(-6.0, 0.0, 1.0);
        assert!(!interval(3.0, 5.0, 7.0).is_resolved(noisy), "or by 6 the other way");
    }

    #[test]
    fn a_difference_is_rough_if_it_is_not_known_to_a_tenth_or_three_nanoseconds() {
        let interval = |low, median, high| Interval { low, median, high };
        let noise = interval(-1.0, 0.0, 1.0);
        for (own, remark) in [
            (interval(182.0, 200.0, 220.0), ""),
            (interval(180.0, 200.0, 222.0), "rough"),
            (interval(8.0, 10.0, 14.0), ""),
            (interval(7.0, 10.0, 14.0), "rough"),
            (interval(-7.0, 10.0, 14.0), "not resolved"),
        ] {
            assert_eq!(own.remark(noise), remark, "{own:?}");
        }
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

    /// Uniform samples from 0 to 1 have the median 0.5; 95 % of the confidence intervals should contain it.
    #[test]
    fn intervals_hold_what_they_promise() {
        for count in [2, 5, 6, 8, 31] {
            let mut rng = Rng::new(11);
            let held = (0..400).filter(|seed| {
                let samples: Vec<f64> =
                    (0..count).map(|_| rng.below(1 << 20) as f64 / (1 << 20) as f64).collect();
                let interval = Interval::of(&samples, *seed).unwrap();
                interval.low <= 0.5 && 0.5 <= interval.high
            });
            let held = held.count();
            // Four standard deviations below 95 %. Few ranks permit no less than 99 %.
            assert!(held >= 363, "{held} of 400 with {count} samples");
        }
    }

    #[test]
    fn a_ratio_is_that_of_the_sums() {
        // The residuals are -1, 0 and 1, in windows of 4 on average: 4.303 * sqrt(2 / 2 / 3) / 4.
        let own = ratio(&[(1.0, 4.0), (2.0, 4.0), (3.0, 4.0)]).unwrap();
        let half = 4.303 * (1.0f64 / 3.0).sqrt() / 4.0;
        assert_eq!(own.median, 0.5);
        assert!((own.high - 0.5 - half).abs() < 1e-9 && (0.5 - own.low - half).abs() < 1e-9);
        // An idle window changes nothing, though the median of the ratios would be another one.
        let idle = ratio(&[(4.0, 8.0), (0.0, 0.01), (0.0, 0.01)]).unwrap();
        assert!((idle.median - 0.5).abs() < 0.01, "{idle:?}");
        assert!(!ratio(&[(1.0, 2.0)]).unwrap().is_known());
        assert_eq!((ratio(&[]), ratio(&[(1.0, 0.0)])), (None, None));
    }

    /// A number from the sum of twelve uniform ones: nearly normal, with the mean 0 and the deviation 1.
    fn normal(rng: &mut Rng) -> f64 {
        (0..12).map(|_| rng.below(1 << 20) as f64 / (1 << 20) as f64).sum::<f64>() - 6.0
    }

    /// A cost that is measured in rounds times a rate that is counted in windows, both with errors of some percent, and a load
    /// that is different in each window.
    #[test]
    fn combined_intervals_hold_what_they_promise() {
        for (rounds, windows, error) in [(15, 10, 0.1), (5, 4, 0.05), (25, 2, 0.02)] {
            let mut rng = Rng::new(17);
            let held = (0..200).filter(|seed| {
                let costs: Vec<f64> =
                    (0..rounds).map(|_| 50.0 * (1.0 + error * normal(&mut rng))).collect();
                let cost = Interval::of(&costs, *seed).unwrap();
                // Nanoseconds under filters, and those of CPU time.
                let pairs: Vec<(f64, f64)> = (0..windows)
                    .map(|_| {
                        let load = 1.0 + 0.3 * normal(&mut rng).clamp(-3.0, 3.0);
                        let calls = load * 0.001 * (1.0 + 0.05 * normal(&mut rng));
                        (calls * cost.median, load)
                    })
                    .collect();
                let rate = ratio(&pairs).unwrap();
                let share = cost.scaled(rate.median / cost.median).with_error_of(rate);
                share.low <= 0.05 && 0.05 <= share.high
            });
            let held = held.count();
            // Four standard deviations below 95 %.
            assert!(held >= 177, "{held} of 200 with {rounds} rounds and {windows} windows");
        }
    }

    #[test]
    fn an_unknown_error_makes_an_interval_unknown() {
        let known = Interval { median: 2.0, low: 1.0, high: 4.0 };
        assert_eq!(known.with_error_of(known).median, 2.0);
        let both = known.with_error_of(Interval { median: 5.0, low: 5.0, high: 5.0 });
        assert_eq!(both, known, "no error is added");
        let unknown = Interval::of(&[7.0], 1).unwrap();
        assert!(!known.with_error_of(unknown).is_known());
        assert!(!unknown.scaled(2.0).widened(1.0).is_known());
        assert_eq!(known.scaled(2.0).widened(1.0), Interval { median: 4.0, low: 1.0, high: 9.0 });
    }

    #[test]
    fn bounds_are_the_ranks_of_the_sign_test() {
        // Dixon and Massey, Introduction to Statistical Analysis, table A-25: the rank is one more.
        let beyond = [6, 8, 9, 12, 20, 40, 100, 1000].map(samples_beyond);
        assert_eq!(beyond, [0, 0, 1, 2, 5, 13, 39, 468]);
        assert_eq!(samples_beyond(1001), 469);
        let samples: Vec<f64> = (1..=9).map(f64::from).collect();
        assert_eq!(by_rank(&samples, 5.0), Some((2.0, 8.0)));
    }

    #[test]
    fn one_sample_says_nothing_about_the_interval() {
        let interval = Interval::of(&[7.0], 1).unwrap();
        assert_eq!((interval.median, interval.is_known()), (7.0, false));
        assert_eq!(interval.bounds(1, ".."), "unknown");
        assert!(!interval.is_resolved(Interval { median: 0.0, low: 0.0, high: 0.0 }));
        assert_eq!(Interval::of(&[7.0, 7.0], 1).unwrap().bounds(1, ".."), "7.0 .. 7.0");
    }
}
