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
const FIRST_SLOTS: usize = 1 << 8;

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

    /// The number of the node after the newer child; 0 for a terminal.
    #[inline]
    fn after_children(self) -> u32 {
        if self.var < VERDICT { self.low.max(self.high).wrapping_add(1) } else { 0 }
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

/// Where a node is or belongs.
pub(super) enum Place {
    /// It is the node with this number, right after its newer child.
    Found(u32),
    /// It does not exist, and belongs right after its newer child, at the end.
    New,
    /// Only the index can tell.
    Unknown,
}

pub(super) struct NodeTable {
    nodes: Vec<Stored>,
    /// The hash index of `nodes`, with open addressing. 0 marks an empty slot (node 0, a truth value, is never
    /// looked up). It has `slots` elements; or none, in a copy that has not been searched yet. A node whose number follows
    /// that of its newer child is not in the index: it is found by that number. Most nodes are created bottom-up, so the index
    /// stays small.
    unique: Vec<u32>,
    /// A power of two, of which at most half are used.
    slots: usize,
    /// The number of used slots.
    used: usize,
}

impl NodeTable {
    /// The table of the two truth values.
    pub(super) fn new([never, always]: [u32; 2]) -> NodeTable {
        let mut nodes = Vec::with_capacity(FIRST_SLOTS / 2);
        nodes.extend([Stored::terminal(TRUTH, never), Stored::terminal(TRUTH, always)]);
        NodeTable { nodes, unique: vec![0; FIRST_SLOTS], slots: FIRST_SLOTS, used: 0 }
    }

    /// A copy without an index: a reader needs none.
    pub(super) fn copy(&self) -> NodeTable {
        let NodeTable { slots, used, .. } = *self;
        NodeTable { nodes: self.nodes.clone(), unique: Vec::new(), slots, used }
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

    /// Where a node is or belongs, as far as that is known without the index.
    #[inline]
    pub(super) fn place_of(&self, stored: Stored) -> Place {
        let after = stored.after_children();
        match self.nodes.get(after as usize) {
            Some(node) if *node == stored => Place::Found(after),
            // Children are older than their node. The newer child is the newest node, so no node has it as a child yet.
            None => Place::New,
            Some(_) => Place::Unknown,
        }
    }

    /// The number of a node that is not right after its newer child, or the empty slot of the index where it belongs.
    #[inline]
    pub(super) fn find(&self, stored: Stored) -> Result<u32, usize> {
        let mask = self.slots - 1;
        let mut slot = stored.hash() & mask;
        // At most half of the slots are used, so there is an empty one.
        while let Some(id) = self.unique.get(slot).copied().filter(|id| *id != 0) {
            if self.nodes.get(id as usize).is_some_and(|node| *node == stored) {
                return Ok(id);
            }
            slot = (slot + 1) & mask;
        }
        Err(slot)
    }

    /// Adds a node right after its newer child. Returns its number.
    #[inline]
    pub(super) fn push(&mut self, stored: Stored) -> u32 {
        let id = self.nodes.len() as u32;
        self.nodes.push(stored);
        id
    }

    /// Adds any other node, with the empty slot where it belongs. Returns its number.
    pub(super) fn insert(&mut self, slot: usize, stored: Stored) -> u32 {
        let id = self.push(stored);
        if let Some(slot) = self.unique.get_mut(slot) {
            *slot = id;
        }
        self.used += 1;
        if self.used * 2 > self.slots {
            self.slots *= 4;
            self.fill();
        }
        id
    }

    /// Makes the hash index anew.
    #[cold]
    fn fill(&mut self) {
        // The system provides memory that is already zero.
        let mut unique = vec![0; self.slots];
        let mask = self.slots - 1;
        // No two nodes are the same, so each belongs into the first empty slot.
        for (id, stored) in (0..).zip(&self.nodes).skip(2) {
            if stored.after_children() == id {
                continue;
            }
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
        // first: all nodes that lead to another one come before it. `bits` is the current word, `older` has those before it.
        let mut older = vec![0u64; root as usize / 64];
        let mut bits = 1u64 << (root % 64);
        loop {
            while let Some(bit) = bits.checked_ilog2() {
                bits ^= 1 << bit;
                let Stored { var, low, high } = self.check_node(older.len() as u32 * 64 + bit)?;
                if var >= VERDICT {
                    continue;
                }
                for child in [low, high] {
                    match older.get_mut(child as usize / 64) {
                        Some(bits) => *bits |= 1 << (child % 64),
                        None => bits |= 1 << (child % 64),
                    }
                }
            }
            match older.pop() {
                Some(before) => bits = before,
                None => return Ok(()),
            }
        }
    }

    /// Verifies a node of a function, without those below its children.
    #[inline]
    fn check_node(&self, id: u32) -> Result<Stored, DiagramError> {
        const MISSING: DiagramError =
            DiagramError::defect("the children of a node exist, and are older");
        let stored = self.get(id).ok_or(MISSING)?;
        let Stored { var, low, high } = stored;
        if var < VERDICT && low.max(high) >= id {
            return Err(MISSING);
        }
        let is_found = match self.place_of(stored) {
            Place::Found(found) => found == id,
            Place::New => false,
            Place::Unknown => self.find(stored).is_ok_and(|found| found == id),
        };
        if !is_found {
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
        // The kinds of terminals are greater than all variables.
        if var >= below_low.var.min(below_high.var) {
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
        match table.place_of(stored) {
            Place::Found(_) => panic!("it exists"),
            Place::New => table.push(stored),
            Place::Unknown => table.insert(table.find(stored).unwrap_err(), stored),
        }
    }

    /// The error for a function of two variables that `change` breaks; it gets the table, the root, and its low
    /// child.
    fn broken(change: impl FnOnce(&mut NodeTable, usize, usize)) -> String {
        let mut table = NodeTable::new([0, 1]);
        let allow = add(&mut table, VERDICT, 7, 7);
        let deny = add(&mut table, VERDICT, 8, 8);
        let low = add(&mut table, 40, allow, deny);
        add(&mut table, 41, allow, deny);
        // The root and a node below it belong to a later word of bits than the other nodes.
        (100..200).for_each(|value| _ = add(&mut table, VERDICT, value, value));
        let above = add(&mut table, 36, low, deny);
        let root = add(&mut table, 33, above, low);
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
                assert_eq!(table.find(Stored::terminal(VERDICT, value)), Ok(*id));
            }
            assert!(table.find(Stored::terminal(VERDICT, 20_000)).is_err());
        }
        assert!(table.unique.len() >= 2 * table.nodes.len());
        assert!(table.unique.len() <= 16 * table.nodes.len());
    }

    #[test]
    fn nodes_right_after_their_newer_child_are_not_in_the_index() {
        let mut table = NodeTable::new([0, 1]);
        let deny = add(&mut table, VERDICT, 8, 8);
        let mut node = add(&mut table, VERDICT, 7, 7);
        for var in (0..500).rev() {
            node = add(&mut table, var, node, deny);
        }
        let mut copy = table.copy();
        copy.index();
        for table in [&table, &copy] {
            let used = table.unique.iter().filter(|id| **id != 0).count();
            assert_eq!((used, table.used, table.slots), (2, 2, FIRST_SLOTS));
        }
        copy.check(node).unwrap();
    }

    /// Makes the hash index find the changed node, so that only the other invariant is broken.
    fn index(table: &mut NodeTable, id: usize) {
        let stored = table.nodes[id];
        if let (Place::Unknown, Err(slot)) = (table.place_of(stored), table.find(stored)) {
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
        let below_two = broken(|table, _, low| table.nodes[low].low = table.nodes[low].high);
        assert!(below_two.contains("reduced"), "{below_two}");
        let shared = broken(|table, _, low| {
            let deny = table.nodes[low].high as usize;
            table.nodes[deny] = Stored::terminal(PLACEHOLDER, 8);
            index(table, deny);
        });
        assert!(shared.contains("verdicts"), "{shared}");
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
