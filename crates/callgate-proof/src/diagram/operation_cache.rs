//! The cache of results of if-then-else: direct mapped and lossy. Filters without conditions on arguments hardly need it, so
//! it is allocated at the first result.

use super::node_table::{FIRST_SLOTS, mix};

/// The maximum number of entries.
const MAX_ENTRIES: usize = 1 << 20;

/// An entry is an operation (condition, then, else) and its result.
pub(super) struct OperationCache {
    /// Empty, or as many as `size`. Without a result, an entry is zero: no operation has the condition 0, because 0 is
    /// the predicate that never holds.
    entries: Vec<[u32; 4]>,
    size: usize,
}

impl OperationCache {
    pub(super) fn new() -> OperationCache {
        OperationCache { entries: Vec::new(), size: OperationCache::entries(FIRST_SLOTS) }
    }

    /// The number of entries for a table of nodes with this number of slots.
    fn entries(slots: usize) -> usize {
        (slots / 4).min(MAX_ENTRIES)
    }

    /// Adapts the size to a table of nodes with this number of slots. The entries are dropped.
    pub(super) fn resize(&mut self, slots: usize) {
        *self = OperationCache { entries: Vec::new(), size: OperationCache::entries(slots) };
    }

    /// An empty cache of this size.
    pub(super) fn without_results(&self) -> OperationCache {
        OperationCache { entries: Vec::new(), size: self.size }
    }

    /// The result of an operation, if it is still cached.
    #[inline]
    pub(super) fn get(&self, operation: [u32; 3]) -> Option<u32> {
        let [a, b, c, result] = *self.entries.get(self.slot(operation))?;
        (operation == [a, b, c]).then_some(result)
    }

    #[inline]
    pub(super) fn insert(&mut self, operation: [u32; 3], result: u32) {
        let slot = self.slot(operation);
        let [a, b, c] = operation;
        if self.entries.is_empty() {
            self.entries = vec![[0; 4]; self.size];
        }
        if let Some(slot) = self.entries.get_mut(slot) {
            *slot = [a, b, c, result];
        }
    }

    #[inline]
    fn slot(&self, [a, b, c]: [u32; 3]) -> usize {
        mix(a, b, c) & (self.size - 1)
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
        cache.resize(1 << 13);
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
    fn a_resized_cache_has_a_quarter_of_the_slots_of_the_table() {
        let mut cache = OperationCache::new();
        cache.insert([2, 3, 4], 5);
        cache.resize(1 << 16);
        assert_eq!((cache.size, cache.get([2, 3, 4])), (1 << 14, None));
        cache.resize(1 << 30);
        assert_eq!(cache.size, MAX_ENTRIES);
    }
}
