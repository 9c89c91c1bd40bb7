//! The values that one argument of a call had.
//!
//! Up to [`MAX_FEW`] different values are kept as they are. One more, and what remains is a summary:
//! the smallest and the largest, the bits that were ever set, and those that always were. So the size
//! is bounded, however long somebody records. A summary never becomes a set again, and the order in
//! which values were seen does not matter.
//!
//! Of each value that is kept, the number of runs that had it is known, too: whether a value is the same
//! in all runs is what makes an argument stable.

use super::model::MAX_COUNT;

/// How many different values of an argument are kept.
pub const MAX_FEW: usize = 32;

/// What was seen of one argument.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Values {
    observed: u64,
    seen: Seen,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Seen {
    Few(Few),
    Many(Bounds),
}

impl Default for Seen {
    fn default() -> Seen {
        Seen::Few(Few::default())
    }
}

/// Values one by one.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Few {
    /// Sorted, at most [`MAX_FEW`], none twice.
    values: Vec<u64>,
    /// In how many runs each value was seen; empty when that is one for all, as in every recording that
    /// was not merged.
    runs: Vec<u64>,
}

impl Few {
    fn runs(&self, index: usize) -> u64 {
        self.runs.get(index).copied().unwrap_or(1)
    }

    /// Takes a value in that was seen in so many runs; `false` when there is no room for it.
    fn insert(&mut self, value: u64, runs: u64, join: Join) -> bool {
        match self.values.binary_search(&value) {
            Ok(index) => {
                let all = join.join(self.runs(index), runs);
                if all != self.runs(index) {
                    self.runs.resize(self.values.len(), 1);
                    self.runs.iter_mut().skip(index).take(1).for_each(|runs| *runs = all);
                }
            }
            Err(_) if self.values.len() >= MAX_FEW => return false,
            Err(place) => {
                if runs != 1 || !self.runs.is_empty() {
                    self.runs.resize(self.values.len(), 1);
                    self.runs.insert(place, runs);
                }
                self.values.insert(place, value);
            }
        }
        true
    }
}

/// Whether two recordings are parts of the same runs or of different ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Join {
    Same,
    Different,
}

impl Join {
    /// In how many runs together something was seen.
    pub(super) fn join(self, a: u64, b: u64) -> u64 {
        match self {
            Join::Same => a.max(b),
            Join::Different => a.saturating_add(b).min(MAX_COUNT),
        }
    }
}

/// What is known of many values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The smallest value, unsigned.
    pub min: u64,
    /// The largest value, unsigned.
    pub max: u64,
    /// The bits that were set in some value.
    pub ever: u64,
    /// The bits that were set in every value.
    pub always: u64,
}

impl Bounds {
    /// The bounds of one value.
    pub const fn of(value: u64) -> Bounds {
        Bounds { min: value, max: value, ever: value, always: value }
    }

    /// The bounds of the values of both.
    #[must_use]
    pub fn unite(self, other: Bounds) -> Bounds {
        Bounds {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            ever: self.ever | other.ever,
            always: self.always & other.always,
        }
    }

    /// Whether there are values with these bounds, as far as the smallest and the largest tell.
    pub fn is_possible(&self) -> bool {
        let within = |value: u64| value & !self.ever == 0 && self.always & !value == 0;
        self.min <= self.max && within(self.min) && within(self.max)
    }

    /// Whether a value is within the bounds.
    pub fn contains(&self, value: u64) -> bool {
        (self.min..=self.max).contains(&value)
            && value & !self.ever == 0
            && self.always & !value == 0
    }
}

impl Values {
    /// Values that were seen in one run, together this many times.
    pub fn few(observed: u64, values: impl IntoIterator<Item = u64>) -> Values {
        Values::of_runs(observed, values.into_iter().map(|value| (value, 1)))
    }

    /// Values, each with the number of runs in which it was seen; together they were seen this many times.
    pub fn of_runs(observed: u64, values: impl IntoIterator<Item = (u64, u64)>) -> Values {
        let mut all = Values::default();
        for (value, runs) in values {
            all.insert(value, runs, Join::Same);
        }
        all.observed = observed;
        all
    }

    /// Values of which the bounds alone are known.
    pub fn many(observed: u64, bounds: Bounds) -> Values {
        Values { observed, seen: Seen::Many(bounds) }
    }

    /// One more value, in the same run.
    pub fn observe(&mut self, value: u64) {
        self.observed = self.observed.saturating_add(1).min(MAX_COUNT);
        self.insert(value, 1, Join::Same);
    }

    fn insert(&mut self, value: u64, runs: u64, join: Join) {
        match &mut self.seen {
            Seen::Few(few) => {
                if !few.insert(value, runs, join) {
                    let value = Bounds::of(value);
                    let all = bounds(&few.values).map_or(value, |all| all.unite(value));
                    self.seen = Seen::Many(all);
                }
            }
            Seen::Many(bounds) => *bounds = bounds.unite(Bounds::of(value)),
        }
    }

    /// Takes values in that were seen in the same run.
    pub fn unite(&mut self, other: &Values) {
        self.join(other, Join::Same);
    }

    pub(super) fn join(&mut self, other: &Values, join: Join) {
        self.observed = self.observed.saturating_add(other.observed).min(MAX_COUNT);
        match (&mut self.seen, &other.seen) {
            (_, Seen::Few(few)) => {
                for (index, value) in few.values.iter().enumerate() {
                    self.insert(*value, few.runs(index), join);
                }
            }
            (Seen::Many(bounds), Seen::Many(others)) => *bounds = bounds.unite(*others),
            (Seen::Few(few), Seen::Many(others)) => {
                let all = bounds(&few.values).map_or(*others, |all| all.unite(*others));
                self.seen = Seen::Many(all);
            }
        }
    }

    /// How often a value was seen. Less than the count of the call where values are not known: strace's
    /// names of flags are no values.
    pub fn observed(&self) -> u64 {
        self.observed
    }

    /// All values, sorted, while they are few; `None` when there were more than [`MAX_FEW`].
    pub fn all(&self) -> Option<&[u64]> {
        match &self.seen {
            Seen::Few(few) => Some(&few.values),
            Seen::Many(_) => None,
        }
    }

    /// Each value with the number of runs in which it was seen; none when there were more than
    /// [`MAX_FEW`] values.
    pub fn runs(&self) -> impl Iterator<Item = (u64, u64)> {
        let few = match &self.seen {
            Seen::Few(few) => Some(few),
            Seen::Many(_) => None,
        };
        few.into_iter().flat_map(|few| {
            few.values.iter().enumerate().map(|(index, value)| (*value, few.runs(index)))
        })
    }

    /// The bounds of the values; `None` when there are none.
    pub fn bounds(&self) -> Option<Bounds> {
        match &self.seen {
            Seen::Few(few) => bounds(&few.values),
            Seen::Many(bounds) => Some(*bounds),
        }
    }
}

fn bounds(values: &[u64]) -> Option<Bounds> {
    values.iter().copied().map(Bounds::of).reduce(Bounds::unite)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn values_are_kept_while_they_are_few() {
        let mut values = Values::default();
        assert_eq!((values.all(), values.bounds(), values.observed()), (Some(&[][..]), None, 0));
        for value in (0..MAX_FEW as u64).rev() {
            values.observe(value << 8 | 1);
            values.observe(value << 8 | 1);
        }
        let all: Vec<u64> = (0..MAX_FEW as u64).map(|value| value << 8 | 1).collect();
        assert_eq!((values.all(), values.observed()), (Some(&all[..]), 64));
        values.observe(u64::MAX);
        let bounds = Bounds { min: 1, max: u64::MAX, ever: u64::MAX, always: 1 };
        assert_eq!((values.all(), values.bounds(), values.observed()), (None, Some(bounds), 65));
    }

    #[test]
    fn a_value_counts_once_for_each_run() {
        let of = |values: &[u64]| Values::few(values.len() as u64, values.iter().copied());
        let mut all = of(&[1, 1, 2]);
        assert!(all.runs().eq([(1, 1), (2, 1)]));
        all.unite(&of(&[2, 3]));
        assert!(all.runs().eq([(1, 1), (2, 1), (3, 1)]));
        all.join(&of(&[0, 2]), Join::Different);
        all.join(&of(&[0, 2, 9]), Join::Different);
        assert!(all.runs().eq([(0, 2), (1, 1), (2, 3), (3, 1), (9, 1)]));
        assert_eq!(all, Values::of_runs(10, all.runs()));
        let mut many = of(&(0..=MAX_FEW as u64).collect::<Vec<_>>());
        many.join(&all, Join::Different);
        assert_eq!(many.runs().count(), 0);
    }

    #[test]
    fn impossible_bounds_are_noticed() {
        let good = Bounds { min: 5, max: 0xd, ever: 0xd, always: 5 };
        assert!(good.is_possible());
        for bad in [
            Bounds { min: 0xe, ..good },
            Bounds { max: 4, ..good },
            Bounds { ever: 5, ..good },
            Bounds { always: 8, ..good },
        ] {
            assert!(!bad.is_possible(), "{bad:?}");
        }
    }

    proptest! {
        /// In whatever order values come, alone or united from parts, the result is one.
        #[test]
        fn order_and_parts_do_not_matter(
            values in proptest::collection::vec(0_u64..80, 0..120),
            cut in 0_usize..120,
        ) {
            let gather = |values: &[u64]| {
                let mut all = Values::default();
                values.iter().for_each(|value| all.observe(*value));
                all
            };
            let (left, right) = values.split_at(cut.min(values.len()));
            let whole = gather(&values);
            for (first, second) in [(left, right), (right, left)] {
                let mut united = gather(first);
                united.unite(&gather(second));
                prop_assert_eq!(&united, &whole);
            }
            let distinct: std::collections::BTreeSet<u64> = values.iter().copied().collect();
            match whole.all() {
                Some(all) => prop_assert!(all.iter().eq(&distinct)),
                None => prop_assert!(distinct.len() > MAX_FEW),
            }
            for value in values {
                prop_assert!(whole.bounds().is_some_and(|bounds| bounds.contains(value) && bounds.is_possible()));
            }
        }
    }
}
