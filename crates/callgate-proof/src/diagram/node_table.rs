//! The table of nodes of a store, in which each node is unique.
//!
//! Nodes are plain numbers here: indexes into the table. [`NodeTable::check`] verifies the invariants.

use super::error::DiagramError;

/// The number of bits of the sixteen words.
pub const BITS: Var = 512;

/// The number of variables: the bits of the sixteen words, then [comparisons](super::Comparison).
pub const VARS: Var = BITS + 256;

/// A variable. Below [`BITS`], bit `31 - var % 32` of word `var / 32`, so that the most significant bit comes first.
pub type Var = u16;

/// The variable of terminals: after all others.
pub(super) const TERMINAL: Var = VARS;

// In place of a variable, the kind of a terminal: from `TERMINAL` on.
pub(super) const VERDICT: u32 = VARS as u32;
pub(super) const TRUTH: u32 = VERDICT + 1;
pub(super) const PLACEHOLDER: u32 = VERDICT + 2;
pub(super) const FOREIGN: u32 = VERDICT + 3;

/// The first size of the hash index. Small filters need few nodes, and fresh pages of memory would cost more than all
/// other work on them.
pub(super) const FIRST_SLOTS: usize = 1 << 8;

/// A node as it is stored.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Stored {
    pub(super) var: u32,
    /// For a terminal: the verdict, the truth value, or the node that a placeholder stands for.
    pub(super) low: u32,
    pub(super) high: u32,
}

impl Stored {
    /// A terminal of this kind.
    pub(super) const fn terminal(kind: u32, value: u32) -> Stored {
        Stored { var: kind, low: value, high: value }
    }

    /// The variable that it tests; `TERMINAL` for a terminal.
    #[inline]
    pub(super) fn test(self) -> Var {
        (self.var as Var).min(TERMINAL)
    }

    #[inline]
    fn hash(self) -> usize {
        mix(self.low, self.high, self.var)
    }

    #[inline]
    pub(super) fn tests(self, var: Var) -> bool {
        self.var == u32::from(var) && self.var < VERDICT
    }
}

/// A hash of three numbers of nodes.
#[inline]
pub(super) fn mix(a: u32, b: u32, c: u32) -> usize {
    let h = (u64::from(a) << 32 | u64::from(b)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
        ^ u64::from(c).wrapping_mul(0xd6e8_feb8_6659_fd93);
    (h.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize
}

pub(super) struct NodeTable {
    nodes: Vec<Stored>,
    /// The hash index of `nodes`, with open addressing. 0 marks an empty slot (node 0, a truth value, is never
    /// looked up). It has `slots` elements; or none, in a copy that has not been searched yet.
    unique: Vec<u32>,
    /// A power of two, of which at most half are used.
    slots: usize,
}

impl NodeTable {
    /// The table of the two truth values.
    pub(super) fn new([never, always]: [u32; 2]) -> NodeTable {
        let mut nodes = Vec::with_capacity(FIRST_SLOTS / 2);
        nodes.extend([Stored::terminal(TRUTH, never), Stored::terminal(TRUTH, always)]);
        NodeTable { nodes, unique: vec![0; FIRST_SLOTS], slots: FIRST_SLOTS }
    }

    /// A copy without an index: a reader needs none.
    pub(super) fn copy(&self) -> NodeTable {
        NodeTable { nodes: self.nodes.clone(), unique: Vec::new(), slots: self.slots }
    }

    /// Makes the index, if there is none yet.
    #[inline]
    pub(super) fn index(&mut self) {
        if self.unique.is_empty() {
            self.fill();
        }
    }

    pub(super) fn len(&self) -> usize {
        self.nodes.len()
    }

    #[inline]
    pub(super) fn get(&self, id: u32) -> Option<Stored> {
        self.nodes.get(id as usize).copied()
    }

    /// The slot of a node in the hash index, which exists, with its number; or the empty slot where it belongs, with 0.
    #[inline]
    pub(super) fn slot_of(&self, stored: Stored) -> (usize, u32) {
        let mask = self.slots - 1;
        let mut slot = stored.hash() & mask;
        // At most half of the slots are used, so there is an empty one.
        while let Some(id) = self.unique.get(slot).copied().filter(|id| *id != 0) {
            if self.nodes.get(id as usize).is_some_and(|node| *node == stored) {
                return (slot, id);
            }
            slot = (slot + 1) & mask;
        }
        (slot, 0)
    }

    /// Adds a node at the empty slot where it belongs. Returns its number, and the new size of the hash index if
    /// it grew.
    pub(super) fn insert(&mut self, slot: usize, stored: Stored) -> (u32, Option<usize>) {
        let id = self.nodes.len() as u32;
        self.nodes.push(stored);
        if let Some(slot) = self.unique.get_mut(slot) {
            *slot = id;
        }
        let is_full = self.nodes.len() * 2 > self.slots;
        let grown = is_full.then(|| {
            self.slots *= 4;
            self.fill();
            self.slots
        });
        (id, grown)
    }

    /// Makes the hash index anew.
    #[cold]
    fn fill(&mut self) {
        // The system provides memory that is already zero.
        let mut unique = vec![0; self.slots];
        let mask = self.slots - 1;
        // No two nodes are the same, so each belongs into the first empty slot.
        for (id, stored) in (0..).zip(&self.nodes).skip(2) {
            let mut slot = stored.hash() & mask;
            while unique.get(slot).is_some_and(|id| *id != 0) {
                slot = (slot + 1) & mask;
            }
            if let Some(slot) = unique.get_mut(slot) {
                *slot = id;
            }
        }
        self.unique = unique;
    }

    /// Verifies the invariants for all nodes reachable from a root: ordered, reduced, unique, and with verdicts as
    /// terminals.
    ///
    /// # Errors
    /// The [`DiagramError`] of a defect that names the broken invariant.
    pub(super) fn check(&mut self, root: u32) -> Result<(), DiagramError> {
        self.index();
        // A bit for each reachable node that is not yet verified, from the oldest to the newest. The newest is verified
        // first: all nodes that lead to another one come before it.
        let mut pending = vec![0u64; root as usize / 64 + 1];
        if let Some(bits) = pending.last_mut() {
            *bits = 1 << (root % 64);
        }
        while let Some(bits) = pending.last_mut() {
            let Some(bit) = bits.checked_ilog2() else {
                pending.pop();
                continue;
            };
            *bits ^= 1 << bit;
            let id = (pending.len() as u32 - 1) * 64 + bit;
            let Stored { var, low, high } = self.check_node(id)?;
            if var < VERDICT {
                for child in [low, high] {
                    if let Some(bits) = pending.get_mut(child as usize / 64) {
                        *bits |= 1 << (child % 64);
                    }
                }
            }
        }
        Ok(())
    }

    /// Verifies a node of a function, without those below its children.
    #[inline]
    fn check_node(&self, id: u32) -> Result<Stored, DiagramError> {
        const MISSING: DiagramError =
            DiagramError::defect("the children of a node exist, and are older");
        let stored = self.get(id).ok_or(MISSING)?;
        let Stored { var, low, high } = stored;
        if self.slot_of(stored).1 != id {
            return Err(DiagramError::defect("no two nodes are the same (unique)"));
        }
        if var >= VERDICT {
            return match var {
                VERDICT => Ok(stored),
                _ => Err(DiagramError::defect("the terminals of a function are verdicts")),
            };
        }
        if low == high {
            return Err(DiagramError::defect("the children of a node differ (reduced)"));
        }
        let (Some(below_low), Some(below_high)) = (self.get(low), self.get(high)) else {
            return Err(MISSING);
        };
        if low >= id || high >= id {
            return Err(MISSING);
        }
        if var >= u32::from(below_low.test().min(below_high.test())) {
            return Err(DiagramError::defect(
                "the variable of a node precedes those of its children (ordered)",
            ));
        }
        Ok(stored)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Adds a node without a check of the invariants.
    fn add(table: &mut NodeTable, var: u32, low: u32, high: u32) -> u32 {
        let stored = Stored { var, low, high };
        let (slot, _) = table.slot_of(stored);
        table.insert(slot, stored).0
    }

    /// The error for a function of two variables that `change` breaks; it gets the table, the root, and its low
    /// child.
    fn broken(change: impl FnOnce(&mut NodeTable, usize, usize)) -> String {
        let mut table = NodeTable::new([0, 1]);
        let allow = add(&mut table, VERDICT, 7, 7);
        let deny = add(&mut table, VERDICT, 8, 8);
        let low = add(&mut table, 40, allow, deny);
        add(&mut table, 41, allow, deny);
        let root = add(&mut table, 33, low, deny);
        table.check(root).unwrap();
        change(&mut table, root as usize, low as usize);
        table.check(root).unwrap_err().to_string()
    }

    #[test]
    fn no_variable_is_the_kind_of_a_terminal() {
        for kind in [VERDICT, TRUTH, PLACEHOLDER, FOREIGN] {
            let terminal = Stored::terminal(kind, 3);
            assert!((0..=TERMINAL).all(|var| !terminal.tests(var)));
            assert_eq!(terminal.test(), TERMINAL);
        }
        let node = Stored { var: 511, low: 2, high: 3 };
        assert!(node.tests(511) && !node.tests(510));
    }

    /// Beyond the first sizes of the hash index.
    #[test]
    fn every_node_is_found_after_the_index_grew() {
        let mut table = NodeTable::new([0, 1]);
        let ids: Vec<u32> = (0..20_000).map(|i| add(&mut table, VERDICT, i, i)).collect();
        let mut copy = table.copy();
        copy.index();
        for table in [&table, &copy] {
            for (value, id) in (0..).zip(&ids) {
                assert_eq!(table.slot_of(Stored::terminal(VERDICT, value)).1, *id);
            }
            assert_eq!(table.slot_of(Stored::terminal(VERDICT, 20_000)).1, 0);
        }
        assert!(table.unique.len() >= 2 * table.nodes.len());
        assert!(table.unique.len() <= 16 * table.nodes.len());
    }

    /// Makes the hash index find the changed node, so that only the other invariant is broken.
    fn index(table: &mut NodeTable, id: usize) {
        let (slot, found) = table.slot_of(table.nodes[id]);
        if found == 0 {
            table.unique[slot] = id as u32;
        }
    }

    #[test]
    fn every_broken_invariant_is_found() {
        let duplicate = broken(|table, root, low| {
            // A second copy of the low child.
            table.nodes[low + 1] = table.nodes[low];
            table.nodes[root].low = low as u32 + 1;
            index(table, root);
        });
        assert!(duplicate.contains("unique"), "{duplicate}");
        let reduced = broken(|table, root, _| {
            table.nodes[root].low = table.nodes[root].high;
            index(table, root);
        });
        assert!(reduced.contains("reduced"), "{reduced}");
        let ordered = broken(|table, root, _| {
            table.nodes[root].var = 41;
            index(table, root);
        });
        assert!(ordered.contains("ordered"), "{ordered}");
        for kind in [TRUTH, PLACEHOLDER, FOREIGN] {
            let verdicts = broken(|table, root, low| {
                table.nodes[low + 1] = Stored::terminal(kind, 7);
                table.nodes[root].low = low as u32 + 1;
                index(table, low + 1);
                index(table, root);
            });
            assert!(verdicts.contains("verdicts"), "{verdicts}");
        }
        let missing = broken(|table, root, _| {
            table.nodes[root].low = 1000;
            index(table, root);
        });
        assert!(missing.contains("exist"), "{missing}");
        let newer = broken(|table, root, _| {
            table.nodes[root].low = add(table, 42, 2, 3);
            index(table, root);
        });
        assert!(newer.contains("older"), "{newer}");
    }
}
