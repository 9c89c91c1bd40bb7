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
//! `docs/generate.md` has an experiment.
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

mod binomial;
mod chao2;
mod estimate;
mod incidence;
mod model;
mod next_run;

pub use estimate::Estimate;
pub use model::Unseen;

#[cfg(test)]
mod tests;
