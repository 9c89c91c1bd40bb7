//! Results of an operation on pairs of functions.
//!
//! A hash table with open addressing. It is exact: no result is forgotten, so each pair is computed once.

use super::func::WordFunc;

/// The number of slots at first, a power of two.
const SLOTS: usize = 256;

/// A table of results by pair, and by the number of the operation, which is less than four.
pub(super) struct PairTable {
    /// Keys plus one, and 0 for an empty slot; results.
    slots: Vec<(u64, WordFunc)>,
    len: usize,
}

impl PairTable {
    pub(super) fn new() -> PairTable {
        PairTable { slots: Vec::new(), len: 0 }
    }

    /// The number of results.
    pub(super) fn len(&self) -> usize {
        self.len
    }

    pub(super) fn get(&self, operation: u64, a: WordFunc, b: WordFunc) -> Option<WordFunc> {
        if self.slots.is_empty() {
            return None;
        }
        let (key, result) = self.slots[self.slot(key(operation, a, b))];
        (key != 0).then_some(result)
    }

    pub(super) fn insert(&mut self, operation: u64, a: WordFunc, b: WordFunc, result: WordFunc) {
        if self.len * 2 >= self.slots.len() {
            let slots = vec![(0, result); (self.slots.len() * 4).max(SLOTS)];
            for (key, result) in std::mem::replace(&mut self.slots, slots) {
                if key != 0 {
                    let slot = self.slot(key);
                    self.slots[slot] = (key, result);
                }
            }
        }
        let key = key(operation, a, b);
        let slot = self.slot(key);
        self.len += usize::from(self.slots[slot].0 == 0);
        self.slots[slot] = (key, result);
    }

    /// The slot of a key, or the empty one where it belongs. At most half of the slots are used.
    fn slot(&self, key: u64) -> usize {
        let mask = self.slots.len() - 1;
        let mut slot = (key.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        while self.slots[slot].0 != 0 && self.slots[slot].0 != key {
            slot = (slot + 1) & mask;
        }
        slot
    }
}

/// The key of a pair, which is not 0.
fn key(operation: u64, a: WordFunc, b: WordFunc) -> u64 {
    (operation << 62 | u64::from(a.number()) << 31 | u64::from(b.number())) + 1
}
