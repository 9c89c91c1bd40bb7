//! A set of nodes: a list while it is small, then a bitmap with a bit for each node of the store.

use super::Node;

/// The maximum length of the list: a longer one takes more time to search than the bitmap.
const MAX_LIST: usize = 16;

/// A set of nodes of one store.
pub struct NodeSet {
    list: Vec<u32>,
    bitmap: Vec<u64>,
    nodes: usize,
}

impl NodeSet {
    /// An empty set for a store with this number of nodes.
    pub fn new(nodes: usize) -> NodeSet {
        NodeSet { list: Vec::new(), bitmap: Vec::new(), nodes }
    }

    /// Adds a node; true if it was not in the set.
    pub fn insert<N: Node>(&mut self, node: N) -> bool {
        self.insert_id(node.id())
    }

    /// As [`NodeSet::insert`], for the number of a node.
    pub(super) fn insert_id(&mut self, id: u32) -> bool {
        if self.bitmap.is_empty() {
            if self.list.contains(&id) {
                return false;
            }
            self.list.push(id);
            if self.list.len() > MAX_LIST {
                self.bitmap = vec![0; self.nodes / 64 + 1];
                for id in std::mem::take(&mut self.list) {
                    self.mark(id);
                }
            }
            return true;
        }
        self.mark(id)
    }

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
