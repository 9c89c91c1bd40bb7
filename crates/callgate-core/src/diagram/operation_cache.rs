//! The cache of results of if-then-else: direct mapped and lossy. Filters without conditions on arguments hardly need it: it
//! grows with the number of its results, because fresh pages of memory cost more than a small cache saves.

use super::node_table::mix;

/// The maximum number of entries.
const MAX_ENTRIES: usize = 1 << 20;

/// The first number of entries.
const FIRST_ENTRIES: usize = 1 << 8;

/// An entry is an operation (condition, then, else) and its result.
pub(super) struct OperationCache {
    /// Empty, or a power of two. Without a result, an entry is zero: no operation has the condition 0, because 0 is
    /// the predicate that never holds.
    entries: Vec<[u32; 4]>,
    /// The number of entries up to which it may grow, a power of two.
    size: usize,
    /// The number of results since it grew.
    results: usize,
}

impl OperationCache {
    pub(super) fn new() -> OperationCache {
        OperationCache::of_size(FIRST_ENTRIES)
    }

    fn of_size(size: usize) -> OperationCache {
        OperationCache { entries: Vec::new(), size, results: 0 }
    }

    /// Lets the cache grow as far as is useful for this number of nodes.
    pub(super) fn allow(&mut self, nodes: usize) {
        self.size = nodes.next_power_of_two().clamp(FIRST_ENTRIES, MAX_ENTRIES);
    }

    /// An empty cache that may grow as far as this one.
    pub(super) fn without_results(&self) -> OperationCache {
        OperationCache::of_size(self.size)
    }

    /// The result of an operation, if it is still cached.
    #[inline]
    pub(super) fn get(&self, operation: [u32; 3]) -> Option<u32> {
        let [a, b, c, result] = *self.entries.get(self.slot(operation))?;
        (operation == [a, b, c]).then_some(result)
    }

    #[inline]
    pub(super) fn insert(&mut self, operation: [u32; 3], result: u32) {
        if self.results >= self.entries.len() {
            self.grow();
        }
        self.results += 1;
        self.set(operation, result);
    }

    #[inline]
    fn set(&mut self, operation: [u32; 3], result: u32) {
        let slot = self.slot(operation);
        let [a, b, c] = operation;
        if let Some(slot) = self.entries.get_mut(slot) {
            *slot = [a, b, c, result];
        }
    }

    #[cold]
    fn grow(&mut self) {
        self.results = 0;
        let len = (self.entries.len() * 4).max(FIRST_ENTRIES).min(self.size);
        if len > self.entries.len() {
            let smaller = std::mem::replace(&mut self.entries, vec![[0; 4]; len]);
            for [a, b, c, result] in smaller.into_iter().filter(|[a, ..]| *a != 0) {
                self.set([a, b, c], result);
            }
        }
    }

    #[inline]
    fn slot(&self, [a, b, c]: [u32; 3]) -> usize {
        mix(a, b, c) & self.entries.len().wrapping_sub(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn operations(count: u32) -> impl Iterator<Item = [u32; 3]> {
        (1..=count).map(|i| [i, i.rotate_left(7), i ^ 0x55])
    }

    #[test]
    fn most_results_are_found_while_the_cache_is_large_enough() {
        let mut cache = OperationCache::new();
        cache.allow(1 << 13);
        for (result, operation) in (0..).zip(operations(1000)) {
            cache.insert(operation, result);
            assert_eq!(cache.get(operation), Some(result));
        }
        let found = (0..).zip(operations(1000)).filter(|(result, operation)| {
            cache.get(*operation).inspect(|found| assert_eq!(found, result)).is_some()
        });
        assert!(found.count() > 600);
    }

    #[test]
    fn an_empty_cache_has_no_results() {
        let cache = OperationCache::new();
        for operation in [[0; 3], [1; 3], [2, 1, 0]] {
            assert_eq!(cache.get(operation), None);
        }
        let mut cache = OperationCache::new();
        cache.insert([2, 3, 4], 5);
        for operation in [[1; 3], [1, 0, 0], [2, 1, 0]] {
            assert_eq!(cache.get(operation), None);
        }
    }

    #[test]
    fn a_cache_grows_with_its_results_up_to_the_number_of_nodes() {
        let mut cache = OperationCache::new();
        cache.allow((1 << 13) + 1);
        assert_eq!((cache.entries.len(), cache.size), (0, 1 << 14));
        let mut lengths = Vec::new();
        for (result, operation) in (0..).zip(operations(100_000)) {
            cache.insert(operation, result);
            lengths.push(cache.entries.len());
        }
        lengths.dedup();
        assert_eq!(lengths, [1 << 8, 1 << 10, 1 << 12, 1 << 14]);
        cache.allow(1 << 30);
        assert_eq!(cache.size, MAX_ENTRIES);
    }
}
