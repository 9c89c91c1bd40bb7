//! The probability that the next run does something new.

use super::binomial::clopper_pearson;
use super::estimate::{Estimate, Z};

/// Added to the number of pairs, which may be small by chance: without it, the intervals of programs that rarely do
/// something new contain the truth in 70 % to 90 % of all cases.
const UNSEEN_PAIRS: f64 = 0.5;

/// The probability that a run does something that none of `runs` runs did, if `alone` of them did something alone, and
/// `pairs` pairs did so, without those in which a run also did something alone. At least two runs.
pub(super) fn next_run(runs: u64, alone: u64, pairs: u64) -> Estimate {
    let n = runs as f64;
    let value = alone as f64 / n;
    let (low, high) = clopper_pearson(alone, runs);
    let of_pairs = Z * Z * 2.0 * (pairs as f64 + UNSEEN_PAIRS) / (n * (n - 1.0));
    Estimate {
        value,
        low: (value - ((value - low).powi(2) + of_pairs).sqrt()).max(0.0),
        high: (value + ((high - value).powi(2) + of_pairs).sqrt()).min(1.0),
    }
}
