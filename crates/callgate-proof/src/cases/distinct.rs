//! Distinct values, and their indexes.

use std::borrow::Borrow;
use std::hash::{BuildHasher, Hash};

use rustc_hash::{FxBuildHasher, FxHashMap as HashMap};

/// The indexes of distinct values by their hashes. The values are elsewhere, each of them once.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Indexes {
    /// The index of the last value with a hash.
    last: HashMap<u64, usize>,
    /// Per value, the index of the value before it with the same hash.
    before: Vec<Option<usize>>,
}

impl Indexes {
    /// Prepares for this number of further values.
    pub(super) fn reserve(&mut self, values: usize) {
        self.last.reserve(values);
        self.before.reserve(values);
    }

    /// The index of a value, if `is_equal` finds it among those with its hash.
    pub(super) fn find(
        &self,
        value: &(impl Hash + ?Sized),
        is_equal: impl Fn(usize) -> bool,
    ) -> Option<usize> {
        let mut at = self.last.get(&FxBuildHasher.hash_one(value)).copied();
        while let Some(index) = at.filter(|index| !is_equal(*index)) {
            at = self.before.get(index).copied().flatten();
        }
        at
    }

    /// Adds a value that is not found; its index is the number of values before.
    pub(super) fn add(&mut self, value: &(impl Hash + ?Sized)) -> usize {
        let index = self.before.len();
        self.before.push(self.last.insert(FxBuildHasher.hash_one(value), index));
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
}
