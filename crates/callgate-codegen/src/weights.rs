//! How often each call happens.

use std::collections::BTreeMap;

use callgate_bpf::data::Word;
use callgate_bpf::syscalls::Arch;
use callgate_bpf::verdict::Verdict;
use callgate_proof::diagram::{Func, Store};

/// How often calls happen, relative to each other.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Weights(Kind);

#[derive(Clone, Debug, Default, PartialEq)]
enum Kind {
    /// Every call of the first architecture that is always allowed happens equally often.
    #[default]
    Uniform,
    /// By name, and by the architecture that the count is for, if it is for one alone.
    Counts(BTreeMap<String, Vec<(Option<Arch>, f64)>>),
}

/// One call and how often it happened.
#[derive(Clone, Debug, PartialEq)]
pub struct Count {
    /// Whose call it is; `None` when it is not known.
    pub arch: Option<Arch>,
    /// The name of the call.
    pub name: String,
    /// How often it happened.
    pub count: f64,
}

/// Why a count is no weight.
#[derive(Clone, Debug, PartialEq)]
pub struct WeightError {
    name: String,
    given: f64,
}

impl std::fmt::Display for WeightError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "the weight of {} is {}; a weight is a finite number ≥ 0", self.name, self.given)
    }
}

impl std::error::Error for WeightError {}

/// One call with its weight.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightedCall {
    /// The arch token.
    pub token: u32,
    /// The number.
    pub nr: u32,
    /// How often it happens.
    pub weight: f64,
    /// Whether it is allowed whatever its arguments are.
    pub always_allowed: bool,
}

impl Weights {
    /// The prior: every call of the filter's first architecture that is always allowed happens
    /// equally often. See the [module](super) for the reasons.
    pub fn uniform() -> Weights {
        Weights(Kind::Uniform)
    }

    /// Counts by name of call; names that occur twice add up. They are taken for the first
    /// architecture of the filter; those that it does not have are ignored.
    ///
    /// # Errors
    /// When a count is negative, infinite or not a number.
    pub fn counts(counts: impl IntoIterator<Item = (String, f64)>) -> Result<Weights, WeightError> {
        let of_first = |(name, count)| Count { arch: None, name, count };
        Weights::of(counts.into_iter().map(of_first))
    }

    /// Counts as a recording gives them, in which a count may be for one architecture alone;
    /// otherwise as [`Weights::counts`].
    ///
    /// # Errors
    /// When a count is negative, infinite or not a number.
    pub fn of(counts: impl IntoIterator<Item = Count>) -> Result<Weights, WeightError> {
        let mut sums: BTreeMap<String, Vec<(Option<Arch>, f64)>> = BTreeMap::new();
        for Count { arch, name, count: given } in counts {
            if !(given.is_finite() && given >= 0.0) {
                return Err(WeightError { name, given });
            }
            let sums = sums.entry(name).or_default();
            match sums.iter_mut().find(|(known, _)| *known == arch) {
                Some((_, sum)) => *sum = (*sum + given).min(f64::MAX),
                None => sums.push((arch, given)),
            }
        }
        // Counts are relative. As shares of the largest, they neither overflow when they are added
        // up nor when something is divided by their sum.
        let all = sums.values().flatten().map(|(_, sum)| *sum);
        let largest = all.fold(0.0, f64::max);
        for sums in sums.values_mut() {
            sums.sort_by_key(|(arch, _)| *arch);
            if largest > 0.0 {
                sums.iter_mut().for_each(|(_, share)| *share /= largest);
            }
        }
        Ok(Weights(Kind::Counts(sums)))
    }

    /// The calls of these architectures that happen under a filter, by token and number.
    pub fn resolve(&self, store: &Store, filter: Func, arches: &[Arch]) -> Vec<WeightedCall> {
        let mut calls = Vec::new();
        for (index, arch) in arches.iter().enumerate() {
            let token = arch.token();
            let numbers = store.follow(filter, Word::ARCH, token);
            for (nr, name) in arch.calls() {
                let always_allowed =
                    store.as_verdict(store.follow(numbers, Word::NR, nr)) == Some(Verdict::ALLOW);
                let weight = match &self.0 {
                    Kind::Uniform => f64::from(u8::from(index == 0 && always_allowed)),
                    Kind::Counts(counts) => counts
                        .get(name)
                        .into_iter()
                        .flatten()
                        .filter(|(of, _)| of.map_or(index == 0, |of| of == *arch))
                        .map(|(_, share)| share)
                        .sum(),
                };
                calls.push(WeightedCall { token, nr, weight, always_allowed });
            }
        }
        calls.sort_by_key(|call| (call.token, call.nr));
        calls
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_must_be_numbers_that_make_sense() {
        for bad in [-1.0, f64::NAN, f64::INFINITY] {
            let error = Weights::counts([("read".to_string(), bad)]).unwrap_err();
            assert!(error.to_string().contains("read"), "{error}");
        }
        let twice = [("read".to_string(), 1.0), ("read".to_string(), 2.0)];
        let once = [("read".to_string(), 3.0)];
        assert_eq!(Weights::counts(twice), Weights::counts(once));
    }

    #[test]
    fn counts_are_relative_and_may_be_as_large_or_small_as_a_number_can_be() {
        let counts = |read, write| {
            Weights::counts([("read".to_string(), read), ("write".to_string(), write)])
        };
        assert_eq!(counts(1.0, 2.0), counts(100.0, 200.0));
        assert_eq!(counts(1.0, 1.0), counts(f64::MAX, f64::MAX));
        assert_eq!(counts(1.0, 1.0), counts(5e-324, 5e-324));
        let twice = [("read".to_string(), f64::MAX), ("read".to_string(), f64::MAX)];
        assert_eq!(Weights::counts(twice), Weights::counts([("read".to_string(), 1.0)]));
    }
}
