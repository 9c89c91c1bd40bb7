//! Distinct values, and their indexes.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

use rustc_hash::{FxBuildHasher, FxHashMap as HashMap};

/// The number of values from which on they are in a hash table. Fewer are searched for in order, because a hash table is
/// code that a process may not need otherwise.
const FEW: usize = 16;

/// The indexes of distinct values by their hashes. The values are elsewhere, each of them once.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Indexes {
    /// The hash of each value.
    hashes: Vec<u64>,
    /// The index of the last value with a hash. Empty for less than [`FEW`] values.
    last: HashMap<u64, usize>,
    /// Per value, the index of the value before it with the same hash.
    before: Vec<Option<usize>>,
}

impl Indexes {
    /// The index of a value, if `is_equal` finds it among those with its hash.
    pub(super) fn find(
        &self,
        value: &(impl Hash + ?Sized),
        is_equal: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let hash = FxBuildHasher.hash_one(value);
        if self.hashes.len() < FEW {
            return (0..)
                .zip(&self.hashes)
                .find(|(at, of)| **of == hash && is_equal(*at))
                .map(|(at, _)| at);
        }
        let mut at = self.last.get(&hash).copied();
        while let Some(index) = at.filter(|index| !is_equal(*index)) {
            at = self.before.get(index).copied().flatten();
        }
        at
    }

    /// Adds a value that is not found; its index is the number of values before.
    pub(super) fn add(&mut self, value: &(impl Hash + ?Sized)) -> usize {
        let index = self.hashes.len();
        self.hashes.push(FxBuildHasher.hash_one(value));
        if self.hashes.len() >= FEW {
            for (at, hash) in self.hashes.iter().enumerate().skip(self.before.len()) {
                self.before.push(self.last.insert(*hash, at));
            }
        }
        index
    }
}

/// Distinct values with consecutive indexes.
#[derive(Debug)]
pub(super) struct Distinct<T> {
    values: Vec<T>,
    indexes: Indexes,
}

impl<T> Default for Distinct<T> {
    fn default() -> Distinct<T> {
        Distinct { values: Vec::new(), indexes: Indexes::default() }
    }
}

impl<T> Distinct<T> {
    /// The index of a value.
    pub(super) fn index_of<Q>(&mut self, value: &Q) -> usize
    where
        Q: Eq + Hash + ToOwned<Owned = T> + ?Sized,
        T: Borrow<Q>,
    {
        let is_equal =
            |index: usize| self.values.get(index).is_some_and(|known| known.borrow() == value);
        if let Some(index) = self.indexes.find(value, is_equal) {
            return index;
        }
        let index = self.indexes.add(value);
        self.values.push(value.to_owned());
        index
    }

    pub(super) fn into_values(self) -> Vec<T> {
        self.values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value whose hash is that of all others.
    #[derive(Clone, Debug, PartialEq, Eq)]
    struct Same(u32);

    impl Hash for Same {
        fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
    }

    #[test]
    fn equal_values_have_one_index_and_others_another_one() {
        let mut values = Distinct::default();
        let indexes = [5, 7, 5, 9, 7, 9].map(|value| values.index_of(&Same(value)));
        assert_eq!(indexes, [0, 1, 0, 2, 1, 2]);
        assert_eq!(values.into_values(), [Same(5), Same(7), Same(9)]);
    }

    #[test]
    fn few_values_and_many_have_indexes_in_order() {
        let mut values = Distinct::default();
        for last in 0..3 * FEW {
            assert_eq!(values.index_of(&(7 * last)), last);
            for value in 0..=last {
                assert_eq!(values.index_of(&(7 * value)), value, "of {last}");
            }
        }
        let mut values = Distinct::default();
        for last in 0..3 * FEW {
            assert_eq!(values.index_of(&Same(last as u32)), last);
            assert_eq!(values.index_of(&Same(0)), 0);
        }
    }
}
