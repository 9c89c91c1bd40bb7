//! The values of one argument of a syscall.
//!
//! Up to [`MAX_VALUES`] distinct values are kept individually. With one more, only bounds remain: the smallest and
//! the largest value, the bits that were set in some value, and those that were set in all. So the size is bounded for
//! recordings of any length. Bounds never become a set again, and the order of the values does not matter.
//!
//! For each value that is kept, the [`Evidence`] of runs that had it is kept too: an argument is stable if its values are
//! the same in all runs.

use std::collections::BTreeMap;

use super::evidence::{Evidence, RunRelation};
use super::limits::{MAX_COUNT, MAX_VALUES};

/// The values of one argument.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct ArgValues {
    observed: u64,
    set: ValueSet,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum ValueSet {
    Listed(ListedValues),
    Bounded(Bounds),
}

impl Default for ValueSet {
    fn default() -> ValueSet {
        ValueSet::Listed(ListedValues::default())
    }
}

/// Individual values.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
struct ListedValues {
    /// Sorted and distinct, at most [`MAX_VALUES`].
    values: Vec<u64>,
    /// The runs in which each value was seen; empty if this is the default for all, as in every recording that was
    /// not merged.
    seen: Vec<Evidence>,
}

impl ListedValues {
    fn seen(&self, index: usize) -> Evidence {
        self.seen.get(index).copied().unwrap_or_default()
    }

    /// Adds a value that was seen in these runs; `false` if the set is full.
    fn insert(&mut self, value: u64, seen: Evidence, relation: RunRelation) -> bool {
        match self.values.binary_search(&value) {
            Ok(index) => {
                let all = self.seen(index).join(seen, relation);
                if all != self.seen(index) {
                    self.seen.resize(self.values.len(), Evidence::default());
                    self.seen.iter_mut().skip(index).take(1).for_each(|seen| *seen = all);
                }
            }
            Err(_) if self.values.len() >= MAX_VALUES => return false,
            Err(place) => {
                if seen != Evidence::default() || !self.seen.is_empty() {
                    self.seen.resize(self.values.len(), Evidence::default());
                    self.seen.insert(place, seen);
                }
                self.values.insert(place, value);
            }
        }
        true
    }
}

/// Bounds of a set of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bounds {
    /// The smallest value, unsigned.
    pub min: u64,
    /// The largest value, unsigned.
    pub max: u64,
    /// The bits that were set in at least one value.
    pub ever: u64,
    /// The bits that were set in all values.
    pub always: u64,
}

impl Bounds {
    /// The bounds of one value.
    pub const fn of(value: u64) -> Bounds {
        Bounds { min: value, max: value, ever: value, always: value }
    }

    /// The bounds of the union of both sets.
    #[must_use]
    pub fn unite(self, other: Bounds) -> Bounds {
        Bounds {
            min: self.min.min(other.min),
            max: self.max.max(other.max),
            ever: self.ever | other.ever,
            always: self.always & other.always,
        }
    }

    /// Whether the smallest and the largest value are consistent with the bits.
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

impl ArgValues {
    /// Values of one run. `observed` is how often a value was seen.
    pub fn from_values(observed: u64, values: impl IntoIterator<Item = u64>) -> ArgValues {
        let seen = |value| (value, Evidence::default());
        ArgValues::from_values_in_runs(observed, values.into_iter().map(seen))
    }

    /// Values, each with the runs in which it was seen. `observed` is how often a value was seen.
    pub(crate) fn from_values_in_runs(
        observed: u64,
        values: impl IntoIterator<Item = (u64, Evidence)>,
    ) -> ArgValues {
        let mut all = ArgValues::default();
        for (value, seen) in values {
            all.insert(value, seen, RunRelation::Same);
        }
        all.observed = observed;
        all
    }

    /// Values of which only the bounds are known. `observed` is how often a value was seen.
    pub fn from_bounds(observed: u64, bounds: Bounds) -> ArgValues {
        ArgValues { observed, set: ValueSet::Bounded(bounds) }
    }

    /// Adds one value of the same run.
    #[inline]
    pub fn observe(&mut self, value: u64) {
        self.observed = self.observed.saturating_add(1).min(MAX_COUNT);
        match &mut self.set {
            // Most arguments have one value, or too many.
            ValueSet::Listed(listed) if listed.values.first() == Some(&value) => {}
            ValueSet::Listed(_) => self.insert(value, Evidence::default(), RunRelation::Same),
            ValueSet::Bounded(bounds) => *bounds = bounds.unite(Bounds::of(value)),
        }
    }

    fn insert(&mut self, value: u64, seen: Evidence, relation: RunRelation) {
        match &mut self.set {
            ValueSet::Listed(listed) => {
                if !listed.insert(value, seen, relation) {
                    let value = Bounds::of(value);
                    let all = bounds(&listed.values).map_or(value, |all| all.unite(value));
                    self.set = ValueSet::Bounded(all);
                }
            }
            ValueSet::Bounded(bounds) => *bounds = bounds.unite(Bounds::of(value)),
        }
    }

    /// Adds values of the same run.
    pub fn unite(&mut self, other: &ArgValues) {
        self.join(other, RunRelation::Same);
    }

    pub(super) fn join(&mut self, other: &ArgValues, relation: RunRelation) {
        self.observed = self.observed.saturating_add(other.observed).min(MAX_COUNT);
        match (&mut self.set, &other.set) {
            (_, ValueSet::Listed(listed)) => {
                for (index, value) in listed.values.iter().enumerate() {
                    self.insert(*value, listed.seen(index), relation);
                }
            }
            (ValueSet::Bounded(bounds), ValueSet::Bounded(others)) => {
                *bounds = bounds.unite(*others);
            }
            (ValueSet::Listed(listed), ValueSet::Bounded(others)) => {
                let all = bounds(&listed.values).map_or(*others, |all| all.unite(*others));
                self.set = ValueSet::Bounded(all);
            }
        }
    }

    /// Sets the run of values that were seen in a single, unknown run.
    pub(super) fn attribute(&mut self, run: u64) {
        if let ValueSet::Listed(listed) = &mut self.set {
            listed.seen.resize(listed.values.len(), Evidence::default());
            listed.seen.iter_mut().for_each(|seen| seen.attribute(run));
        }
    }

    /// How often a value was seen. This is less than the count of the syscall if some values are not known: for
    /// example, strace prints the names of flags instead of values.
    pub fn observed(&self) -> u64 {
        self.observed
    }

    /// All distinct values, sorted; `None` if there were more than [`MAX_VALUES`].
    pub fn all(&self) -> Option<&[u64]> {
        match &self.set {
            ValueSet::Listed(listed) => Some(&listed.values),
            ValueSet::Bounded(_) => None,
        }
    }

    /// Each distinct value with the runs in which it was seen; empty if there were more than [`MAX_VALUES`] values.
    pub fn seen(&self) -> impl Iterator<Item = (u64, Evidence)> {
        let listed = match &self.set {
            ValueSet::Listed(listed) => Some(listed),
            ValueSet::Bounded(_) => None,
        };
        listed.into_iter().flat_map(|listed| {
            listed.values.iter().enumerate().map(|(index, value)| (*value, listed.seen(index)))
        })
    }

    /// The distinct values of some bits, each with the runs in which it was seen.
    pub(crate) fn seen_in_bits(&self, mask: u64) -> BTreeMap<u64, Evidence> {
        let mut all: BTreeMap<u64, Evidence> = BTreeMap::new();
        for (value, seen) in self.seen() {
            let of = all.entry(value & mask).or_insert(seen);
            *of = of.unite(seen);
        }
        all
    }

    /// Each distinct value with the number of runs in which it was seen; empty if there were more than
    /// [`MAX_VALUES`] values.
    pub fn runs(&self) -> impl Iterator<Item = (u64, u64)> {
        self.seen().map(|(value, seen)| (value, seen.runs()))
    }

    /// The bounds of the values; `None` if no value was seen.
    pub fn bounds(&self) -> Option<Bounds> {
        match &self.set {
            ValueSet::Listed(listed) => bounds(&listed.values),
            ValueSet::Bounded(bounds) => Some(*bounds),
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
    fn up_to_32_distinct_values_are_kept() {
        let mut values = ArgValues::default();
        assert_eq!((values.all(), values.bounds(), values.observed()), (Some(&[][..]), None, 0));
        for value in (0..MAX_VALUES as u64).rev() {
            values.observe(value << 8 | 1);
            values.observe(value << 8 | 1);
        }
        let all: Vec<u64> = (0..MAX_VALUES as u64).map(|value| value << 8 | 1).collect();
        assert_eq!((values.all(), values.observed()), (Some(&all[..]), 64));
        values.observe(u64::MAX);
        let bounds = Bounds { min: 1, max: u64::MAX, ever: u64::MAX, always: 1 };
        assert_eq!((values.all(), values.bounds(), values.observed()), (None, Some(bounds), 65));
    }

    #[test]
    fn the_runs_of_each_value_are_counted() {
        let of =
            |values: &[u64]| ArgValues::from_values(values.len() as u64, values.iter().copied());
        let mut all = of(&[1, 1, 2]);
        assert!(all.runs().eq([(1, 1), (2, 1)]));
        all.unite(&of(&[2, 3]));
        assert!(all.runs().eq([(1, 1), (2, 1), (3, 1)]));
        all.join(&of(&[0, 2]), RunRelation::Different);
        all.join(&of(&[0, 2, 9]), RunRelation::Different);
        assert!(all.runs().eq([(0, 2), (1, 1), (2, 3), (3, 1), (9, 1)]));
        assert_eq!(all, ArgValues::from_values_in_runs(10, all.seen()));
        let mut many = of(&(0..=MAX_VALUES as u64).collect::<Vec<_>>());
        many.join(&all, RunRelation::Different);
        assert_eq!(many.runs().count(), 0);
    }

    #[test]
    fn inconsistent_bounds_are_detected() {
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
        /// The result does not depend on the order of the values, nor on how they are split into parts.
        #[test]
        fn order_and_parts_do_not_matter(
            values in proptest::collection::vec(0_u64..80, 0..120),
            cut in 0_usize..120,
        ) {
            let gather = |values: &[u64]| {
                let mut all = ArgValues::default();
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
                None => prop_assert!(distinct.len() > MAX_VALUES),
            }
            for value in values {
                prop_assert!(whole.bounds().is_some_and(|bounds| bounds.contains(value) && bounds.is_possible()));
            }
        }
    }
}
