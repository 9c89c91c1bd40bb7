//! The values that one argument of a call had.
//!
//! Up to [`MAX_FEW`] different values are kept as they are. One more, and what remains is a summary:
//! the smallest and the largest, the bits that were ever set, and those that always were. So the size
//! is bounded, however long somebody records. A summary never becomes a set again, and the order in
//! which values were seen does not matter.

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
    /// Sorted, at most [`MAX_FEW`], none twice.
    Few(Vec<u64>),
    Many(Bounds),
}

impl Default for Seen {
    fn default() -> Seen {
        Seen::Few(Vec::new())
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
    /// Values that were seen, together this many times.
    pub fn few(observed: u64, values: impl IntoIterator<Item = u64>) -> Values {
        let mut all = Values::default();
        for value in values {
            all.observe(value);
        }
        all.observed = observed;
        all
    }

    /// Values of which the bounds alone are known.
    pub fn many(observed: u64, bounds: Bounds) -> Values {
        Values { observed, seen: Seen::Many(bounds) }
    }

    /// One more value.
    pub fn observe(&mut self, value: u64) {
        self.observed = self.observed.saturating_add(1);
        self.insert(value);
    }

    fn insert(&mut self, value: u64) {
        match &mut self.seen {
            Seen::Few(values) => {
                if let Err(place) = values.binary_search(&value) {
                    if values.len() < MAX_FEW {
                        values.insert(place, value);
                    } else {
                        let bounds = bounds(values)
                            .map_or(Bounds::of(value), |all| all.unite(Bounds::of(value)));
                        self.seen = Seen::Many(bounds);
                    }
                }
            }
            Seen::Many(bounds) => *bounds = bounds.unite(Bounds::of(value)),
        }
    }

    /// Takes the values of another recording in.
    pub fn unite(&mut self, other: &Values) {
        self.observed = self.observed.saturating_add(other.observed);
        match (&mut self.seen, &other.seen) {
            (_, Seen::Few(values)) => values.iter().for_each(|value| self.insert(*value)),
            (Seen::Many(bounds), Seen::Many(others)) => *bounds = bounds.unite(*others),
            (Seen::Few(values), Seen::Many(others)) => {
                let bounds = bounds(values).map_or(*others, |all| all.unite(*others));
                self.seen = Seen::Many(bounds);
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
            Seen::Few(values) => Some(values),
            Seen::Many(_) => None,
        }
    }

    /// The bounds of the values; `None` when there are none.
    pub fn bounds(&self) -> Option<Bounds> {
        match &self.seen {
            Seen::Few(values) => bounds(values),
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
