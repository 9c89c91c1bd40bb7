//! Estimates of what no recorded run has done yet: how likely the next run makes a syscall that none of them made, and
//! how many such syscalls there are.
//!
//! The idea is that of species richness in ecology, where a recorded run is a sampling unit and a syscall a species:
//! what only one or two runs did tells how much remains unseen (Böhme, *STADS: software testing as species discovery*,
//! ACM TOSEM 27, 2018, applies it to fuzzing). It assumes that the recorded runs and the next one are alike: the same
//! program, with inputs of the same distribution. A recording of tests says nothing about production.
//!
//! # The next run
//!
//! Leave each of the `n` runs out in turn: `k` of them did something that none of the others did. `k / n` is then an
//! unbiased estimate of the probability that a run does something that `n − 1` other runs did not. This is the estimator
//! of Good and Turing for runs instead of single observations (Good, *The population frequencies of species and the
//! estimation of population parameters*, Biometrika 40, 1953; Robbins, *Estimating the total probability of the
//! unobserved outcomes of an experiment*, Ann. Math. Statist. 39, 1968). Syscalls of one run need not be independent of
//! each other: a rare event that brings five new syscalls counts once. For the run after `n` runs, the estimate is
//! slightly too high.
//!
//! The interval combines two independent errors by the method of variance estimates recovery (Zou and Donner,
//! *Construction of confidence limits about effect measures*, Stat. Med. 27, 2008):
//!
//! - `k` is a count of `n`: the interval of Clopper and Pearson (Biometrika 26, 1934), `L` to `U`.
//! - The probability itself depends on which runs were recorded. Let `m` be the number of pairs of runs that did something
//!   that no others did, where neither of the two did something alone. The variance is `V = (2m + 1) / (n (n − 1))`,
//!   which is the term `2 f₂ / n²` of Esty (*A normal limit law for a nonparametric estimator of the coverage of a random
//!   sample*, Ann. Statist. 11, 1983) for runs, with half a pair added because `m` is small.
//!
//! So with `p = k / n` and `z = 1.96`, the limits are `p − √((p − L)² + z² V)` and `p + √((U − p)² + z² V)`, within 0 and 1.
//! `lab/results/unseen.md` has an experiment.
//!
//! # The number of unseen syscalls
//!
//! Chao2 (Chao, *Estimating the population size for capture-recapture data with unequal catchability*, Biometrics 43,
//! 1987), with `f₁` and `f₂` syscalls that were made by exactly one and two runs, and `A = (n − 1) / n`:
//! `A f₁² / (2 f₂)`, or `A f₁ (f₁ − 1) / 2` if `f₂` is 0. This is a lower bound: syscalls that are rarer than what was
//! seen cannot be estimated. The interval is log-normal, with Chao's variance (reviewed by Chao and Colwell, *Thirty
//! years of progeny from Chao's inequality*, SORT 41, 2017). It assumes that syscalls are independent, so it is too narrow
//! if syscalls come in groups.
//!
//! # Limits
//!
//! An argument that is limited because its values were the same in all runs adds nothing to the estimate: a new value of
//! it is possible, but there is no evidence of how likely. Recordings that were merged before runs had identities do not
//! say which runs the rare syscalls are from; each is then assumed to be from a run of its own.

use rustc_hash::FxHashSet;

use crate::generate::Draft;
use crate::recording::Evidence;

/// An estimate with an interval that contains the true value with a probability of 95 %.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// The lower end of the interval.
    pub low: f64,
    /// The upper end of the interval.
    pub high: f64,
}

/// The 97.5 % quantile of the normal distribution.
const Z: f64 = 1.959_963_984_540_054;

/// The probability that the true value is above the interval, and that it is below.
const TAIL: f64 = 0.025;

/// What the recorded runs say about runs that were not recorded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Unseen {
    /// The number of recorded runs, at least 2.
    pub runs: u64,
    /// How many syscalls were made by one run only.
    pub once: u64,
    /// How many values of limited arguments were seen in one run only, other than those that libraries may use in any
    /// run.
    pub values_once: u64,
    /// How many runs made such a syscall or had such a value.
    pub runs_alone: u64,
    /// The probability that the next run makes a syscall that no recorded run made, or has another value of a limited
    /// argument.
    pub next_run: Estimate,
    /// A lower bound of the number of syscalls that no recorded run made; `None` if too few were made by one run only.
    pub syscalls: Option<Estimate>,
}

impl Unseen {
    /// The estimates for the recordings of a draft; `None` if these are of fewer than two runs.
    pub fn of(draft: &Draft) -> Option<Unseen> {
        let recorded = draft.recorded();
        let runs = recorded.runs().len() as u64;
        let syscalls: Vec<Evidence> = recorded.syscalls().map(|(_, stats)| stats.seen()).collect();
        (runs >= 2).then(|| Unseen::estimate(runs, &syscalls, &draft.limited_values()))
    }

    /// The estimates for at least two runs, from the runs of each syscall and of each value.
    fn estimate(runs: u64, syscalls: &[Evidence], values: &[Evidence]) -> Unseen {
        let in_runs =
            |seen: &[Evidence], runs| seen.iter().filter(|seen| seen.runs() == runs).count() as u64;
        let mut incidence = Incidence::default();
        syscalls.iter().chain(values).for_each(|seen| incidence.add(*seen));
        let (once, twice) = (in_runs(syscalls, 1), in_runs(syscalls, 2));
        let runs_alone = incidence.alone(runs);
        Unseen {
            runs,
            once,
            values_once: in_runs(values, 1),
            runs_alone,
            next_run: next_run(runs, runs_alone, incidence.pairs()),
            syscalls: chao2(runs, syscalls.len() as u64, once, twice),
        }
    }
}

/// Added to the number of pairs, which may be small by chance: without it, the intervals of programs that rarely do
/// something new contain the truth in 70 % to 90 % of all cases.
const UNSEEN_PAIRS: f64 = 0.5;

/// The probability that the next run does something new. `runs`, at least 2, were recorded. `alone` of them did something
/// that no other run did. `pairs` counts the pairs of other runs that did something that only these two did.
fn next_run(runs: u64, alone: u64, pairs: u64) -> Estimate {
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

/// What one run or two runs did that no others did.
#[derive(Debug, Default)]
struct Incidence {
    /// Runs that did something alone.
    alone: FxHashSet<u64>,
    /// Pairs of runs that did something that no others did.
    pairs: FxHashSet<[u64; 2]>,
    /// How many things were done by one run that is not known, and by two.
    unknown: [u64; 2],
}

impl Incidence {
    /// Adds the runs of a syscall or a value.
    fn add(&mut self, seen: Evidence) {
        match (seen.runs(), seen.known()) {
            (1, [run]) => _ = self.alone.insert(*run),
            (2, [a, b]) => _ = self.pairs.insert([*a, *b]),
            (1, _) => self.unknown[0] += 1,
            (2, _) => self.unknown[1] += 1,
            _ => {}
        }
    }

    /// How many runs did something alone.
    fn alone(&self, runs: u64) -> u64 {
        (self.alone.len() as u64).saturating_add(self.unknown[0]).min(runs)
    }

    /// How many pairs of runs did something together of which neither did something alone.
    fn pairs(&self) -> u64 {
        let of_alone = |pair: &&[u64; 2]| pair.iter().any(|run| self.alone.contains(run));
        let pairs = self.pairs.iter().filter(|pair| !of_alone(pair)).count();
        (pairs as u64).saturating_add(self.unknown[1])
    }
}

/// The probabilities for which `k` events in `n` trials are not too many and not too few.
fn clopper_pearson(k: u64, n: u64) -> (f64, f64) {
    let low = match k.checked_sub(1) {
        // The probability of at least k events grows with p.
        Some(fewer) => bisect(|p| 1.0 - at_most(fewer, n, p) < TAIL),
        None => 0.0,
    };
    let high = if k >= n { 1.0 } else { bisect(|p| at_most(k, n, p) > TAIL) };
    (low, high)
}

/// The largest probability for which a condition holds that holds from 0 up to it.
fn bisect(holds: impl Fn(f64) -> bool) -> f64 {
    let (mut low, mut high) = (0.0, 1.0);
    for _ in 0..60 {
        let middle = f64::midpoint(low, high);
        if holds(middle) {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The probability of at most `k` events in `n` trials.
fn at_most(k: u64, n: u64, p: f64) -> f64 {
    let odds = (p / (1.0 - p)).ln();
    let mut term = n as f64 * (1.0 - p).ln();
    let mut sum = term.exp();
    for i in 0..k {
        term += ((n - i) as f64 / (i + 1) as f64).ln() + odds;
        sum += term.exp();
    }
    sum
}

/// The number of syscalls that were made by no run, if `once` were made by one run, `twice` by two, and `seen` by any of
/// `runs`. `None` if too few were made once.
fn chao2(runs: u64, seen: u64, once: u64, twice: u64) -> Option<Estimate> {
    let [runs, seen, once, twice] = [runs, seen, once, twice].map(|count| count as f64);
    let a = (runs - 1.0) / runs;
    let (value, variance) = if twice > 0.0 {
        let ratio = once / twice;
        let terms = a * ratio.powi(2) / 2.0 + a * a * ratio.powi(3) + a * a * ratio.powi(4) / 4.0;
        (a * once * once / (2.0 * twice), twice * terms)
    } else {
        let value = a * once * (once - 1.0) / 2.0;
        let squares = once * (2.0 * once - 1.0).powi(2) - once.powi(4) / (seen + value);
        (value, value + a * a * squares / 4.0)
    };
    if value <= 0.0 {
        return None;
    }
    // The logarithm of the estimate is approximately normal.
    let factor = (Z * (1.0 + variance / (value * value)).ln().sqrt()).exp();
    Some(Estimate { value, low: value / factor, high: value * factor })
}

#[cfg(test)]
mod tests;
