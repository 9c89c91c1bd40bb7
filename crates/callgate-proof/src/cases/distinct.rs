//! Distinct values, and their indexes.

use std::hash::{BuildHasher, Hash};

use rustc_hash::{FxBuildHasher, FxHashMap as HashMap};

/// Distinct values with consecutive indexes. Each is stored once.
#[derive(Debug)]
pub(super) struct Distinct<T> {
    values: Vec<T>,
    /// The index of the last value with a hash.
    last: HashMap<u64, usize>,
    /// Per value, the index of the value before it with the same hash.
    before: Vec<Option<usize>>,
}

impl<T> Default for Distinct<T> {
    fn default() -> Distinct<T> {
        Distinct { values: Vec::new(), last: HashMap::default(), before: Vec::new() }
    }
}

impl<T> Distinct<T> {
    pub(super) fn into_values(self) -> Vec<T> {
        self.values
    }
}

impl<T: Eq + Hash> Distinct<T> {
    /// The index of a value.
    pub(super) fn index_of(&mut self, value: T) -> usize {
        let hash = FxBuildHasher.hash_one(&value);
        let last = self.last.get(&hash).copied();
        let mut at = last;
        while let Some(index) = at {
            if self.values.get(index) == Some(&value) {
                return index;
            }
            at = self.before.get(index).copied().flatten();
        }
        let index = self.values.len();
        self.values.push(value);
        self.before.push(last);
        self.last.insert(hash, index);
        index
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A value whose hash is that of all others.
    #[derive(Debug, PartialEq, Eq)]
    struct Same(u32);

    impl Hash for Same {
        fn hash<H: std::hash::Hasher>(&self, _: &mut H) {}
    }

    #[test]
    fn equal_values_have_one_index_and_others_another_one() {
        let mut values = Distinct::default();
        let indexes = [5, 7, 5, 9, 7, 9].map(|value| values.index_of(Same(value)));
        assert_eq!(indexes, [0, 1, 0, 2, 1, 2]);
        assert_eq!(values.into_values(), [Same(5), Same(7), Same(9)]);
    }
}
