//! Which nodes a walk has seen: a list while they are few, then a bit for each node of the store.

use super::Node;

/// Above so many nodes a bit for each is cheaper than to search them.
const FEW: usize = 16;

/// A set of nodes of one store.
pub struct Seen {
    few: Vec<u32>,
    bits: Vec<u64>,
    nodes: usize,
}

impl Seen {
    /// For a walk in a store of so many nodes.
    pub fn new(nodes: usize) -> Seen {
        Seen { few: Vec::new(), bits: Vec::new(), nodes }
    }

    /// Whether the node is seen for the first time.
    pub fn insert<N: Node>(&mut self, node: N) -> bool {
        self.insert_id(node.id())
    }

    /// The same for the number of a node.
    pub(super) fn insert_id(&mut self, id: u32) -> bool {
        if self.bits.is_empty() {
            if self.few.contains(&id) {
                return false;
            }
            self.few.push(id);
            if self.few.len() > FEW {
                self.bits = vec![0; self.nodes / 64 + 1];
                for id in std::mem::take(&mut self.few) {
                    self.mark(id);
                }
            }
            return true;
        }
        self.mark(id)
    }

    fn mark(&mut self, id: u32) -> bool {
        let bit = 1 << (id % 64);
        match self.bits.get_mut(id as usize / 64) {
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
    fn each_node_is_new_once() {
        let mut store = Store::default();
        let nodes: Vec<Pred> =
            (0..500).map(|var| store.make(var, Pred::NEVER, Pred::ALWAYS).unwrap()).collect();
        let mut seen = Seen::new(store.len());
        for (count, node) in nodes.iter().enumerate() {
            assert!(seen.insert(*node), "{count}");
            assert!(nodes[..=count].iter().all(|node| !seen.insert(*node)), "{count}");
        }
        assert!(seen.insert(Pred::ALWAYS) && !seen.insert(Pred::ALWAYS));
    }
}
