//! A set of nodes: a hash table while it is small, then a bitmap with a bit for each node of the store.

use super::Node;

/// The number of slots of the hash table, a power of two.
const SLOTS: usize = 1 << SLOT_BITS;
const SLOT_BITS: u32 = 7;

/// The maximum number of nodes in the hash table: half of the slots, so that there is always an empty one.
const MAX_HASHED: usize = SLOTS / 2;

/// A set of nodes of one store.
pub struct NodeSet {
    /// With open addressing: numbers of nodes plus one, and 0 for an empty slot.
    slots: [u32; SLOTS],
    /// The number of used slots.
    len: usize,
    /// Empty while the hash table is used.
    bitmap: Vec<u64>,
    nodes: usize,
}

impl NodeSet {
    /// An empty set for a store with this number of nodes.
    pub fn new(nodes: usize) -> NodeSet {
        NodeSet { slots: [0; SLOTS], len: 0, bitmap: Vec::new(), nodes }
    }

    /// Adds a node; true if it was not in the set.
    pub fn insert<N: Node>(&mut self, node: N) -> bool {
        let id = node.id();
        if self.bitmap.is_empty() { self.insert_hashed(id) } else { self.mark(id) }
    }

    fn insert_hashed(&mut self, id: u32) -> bool {
        let key = id.wrapping_add(1);
        let mut slot = id.wrapping_mul(0x9e37_79b9) as usize >> (u32::BITS - SLOT_BITS);
        while let Some(known) = self.slots.get(slot).copied().filter(|known| *known != 0) {
            if known == key {
                return false;
            }
            slot = (slot + 1) % SLOTS;
        }
        if self.len < MAX_HASHED {
            if let Some(empty) = self.slots.get_mut(slot) {
                *empty = key;
            }
            self.len += 1;
            return true;
        }
        self.bitmap = vec![0; self.nodes / 64 + 1];
        for known in self.slots.into_iter().filter_map(|key| key.checked_sub(1)) {
            self.mark(known);
        }
        self.mark(id)
    }

    #[inline]
    fn mark(&mut self, id: u32) -> bool {
        let bit = 1 << (id % 64);
        match self.bitmap.get_mut(id as usize / 64) {
            Some(word) => {
                let new = *word & bit == 0;
                *word |= bit;
                new
            }
            None => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagram::{Pred, Store};

    #[test]
    fn insert_is_true_once_per_node() {
        let mut store = Store::default();
        let nodes: Vec<Pred> =
            (0..500).map(|var| store.make(var, Pred::NEVER, Pred::ALWAYS).unwrap()).collect();
        let mut set = NodeSet::new(store.len());
        for (count, node) in nodes.iter().enumerate() {
            assert!(set.insert(*node), "{count}");
            assert!(nodes[..=count].iter().all(|node| !set.insert(*node)), "{count}");
        }
        assert!(set.insert(Pred::ALWAYS) && !set.insert(Pred::ALWAYS));
    }
}
