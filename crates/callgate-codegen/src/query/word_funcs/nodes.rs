//! The nodes of functions of one word, and results per node.

use callgate_core::Word;
use callgate_core::diagram::{Func, Store};
use rustc_hash::FxHashMap as HashMap;

/// A function of the word, or an exit: a function of later words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct WordFunc(pub(super) u32);

impl WordFunc {
    pub(super) fn at(self) -> usize {
        self.0 as usize
    }

    /// The number of the node, less than 2^31: that many nodes exceed any budget.
    pub(super) fn number(self) -> u32 {
        self.0
    }
}

#[derive(Clone, Copy)]
pub(super) struct Node {
    /// The bits that the function depends on; the highest is the one that the node tests. None: an exit.
    pub(super) bits: u32,
    pub(super) low: WordFunc,
    pub(super) high: WordFunc,
    /// The function in the diagram that an exit is.
    pub(super) exit: Option<Func>,
}

impl Node {
    /// The bit that the node tests, as a mask; 0 for an exit.
    pub(super) fn top(&self) -> u32 {
        top(self.bits)
    }
}

/// The union and the intersection of the bits of a set of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Bits that are set in at least one value.
    pub(crate) any: u32,
    /// Bits that are set in every value.
    pub(crate) all: u32,
}

impl Bounds {
    pub(super) fn union(self, other: Bounds) -> Bounds {
        Bounds { any: self.any | other.any, all: self.all & other.all }
    }
}

/// The functions of one word.
pub(crate) struct WordFuncs {
    word: Word,
    pub(super) nodes: Vec<Node>,
    /// The hash index of the nodes that test a bit, with open addressing: numbers plus one, and 0 for an empty slot. The
    /// size is a power of two, and at most half of the slots are used.
    index: Vec<u32>,
    /// The nodes of functions of the diagram.
    copied: HashMap<Func, WordFunc>,
    pub(super) visited: Known<()>,
    pub(super) cofactors: Known<WordFunc>,
    pub(super) bounds: Known<Bounds>,
    pub(super) lengths: Known<Length>,
    pub(super) steps: u64,
}

/// The maximum number of nodes of [`WordFuncs::copy_few`].
const FEW_NODES: usize = 256;

/// The children of an exit.
pub(super) const NO_CHILD: WordFunc = WordFunc(u32::MAX);

impl WordFuncs {
    pub(crate) fn new(word: Word) -> WordFuncs {
        WordFuncs {
            word,
            nodes: Vec::new(),
            index: vec![0; 128],
            // Most functions have a few nodes per bit.
            copied: HashMap::with_capacity_and_hasher(100, Default::default()),
            visited: Known::default(),
            cofactors: Known::default(),
            bounds: Known::default(),
            lengths: Known::default(),
            steps: 0,
        }
    }

    /// The steps since the last call.
    pub(crate) fn take_steps(&mut self) -> u64 {
        std::mem::take(&mut self.steps)
    }

    /// A function of the diagram, which tests no earlier word.
    pub(crate) fn copy(&mut self, store: &Store, func: Func) -> WordFunc {
        self.copy_within(store, func, usize::MAX).unwrap_or(NO_CHILD)
    }

    /// The same for a function of few nodes; `None` for others.
    pub(crate) fn copy_few(&mut self, store: &Store, func: Func) -> Option<WordFunc> {
        self.copy_within(store, func, FEW_NODES)
    }

    /// Copies a function, while there are at most `limit` nodes. The recursion depth is that of the bits of a word.
    fn copy_within(&mut self, store: &Store, func: Func, limit: usize) -> Option<WordFunc> {
        if let Some(copied) = self.copied.get(&func) {
            return Some(*copied);
        }
        if self.nodes.len() > limit {
            return None;
        }
        let (var, low, high) = store.branch(func);
        let copied = if usize::from(var / 32) == self.word.index() {
            let low = self.copy_within(store, low, limit)?;
            let high = self.copy_within(store, high, limit)?;
            self.node(1 << (31 - u32::from(var % 32)), low, high)
        } else {
            self.add(Node { bits: 0, low: NO_CHILD, high: NO_CHILD, exit: Some(func) })
        };
        self.copied.insert(func, copied);
        Some(copied)
    }

    /// The function in the diagram that an exit is.
    pub(crate) fn as_exit(&self, func: WordFunc) -> Option<Func> {
        self.nodes[func.at()].exit
    }

    pub(crate) fn is_exit(&self, func: WordFunc) -> bool {
        self.bits(func) == 0
    }

    /// The bits on which a function depends.
    pub(crate) fn bits(&self, func: WordFunc) -> u32 {
        self.nodes[func.at()].bits
    }

    /// The most significant bit on which a function depends, as a mask; 0 for an exit.
    pub(crate) fn top_bit(&self, func: WordFunc) -> u32 {
        top(self.bits(func))
    }

    /// The two functions that remain after the test of the most significant bit.
    pub(crate) fn children(&self, func: WordFunc) -> [WordFunc; 2] {
        let node = &self.nodes[func.at()];
        if node.bits == 0 { [func; 2] } else { [node.low, node.high] }
    }

    /// Two exits that do not stand for functions of the diagram.
    pub(super) fn add_exits(&mut self) -> [WordFunc; 2] {
        let exit = Node { bits: 0, low: NO_CHILD, high: NO_CHILD, exit: None };
        [self.add(exit), self.add(exit)]
    }

    fn add(&mut self, node: Node) -> WordFunc {
        let func = WordFunc(self.nodes.len() as u32);
        self.nodes.push(node);
        func
    }

    /// The node that tests a bit, given as a mask, above all bits of its children.
    pub(super) fn node(&mut self, bit: u32, low: WordFunc, high: WordFunc) -> WordFunc {
        self.steps += 1;
        if low == high {
            return low;
        }
        let (slot, found) = self.slot(bit, low, high);
        if let Some(found) = found {
            return found;
        }
        let bits = bit | self.bits(low) | self.bits(high);
        let func = self.add(Node { bits, low, high, exit: None });
        self.index[slot] = func.0 + 1;
        if self.nodes.len() * 2 > self.index.len() {
            self.index = vec![0; self.index.len() * 4];
            for at in 0..self.nodes.len() {
                let node = self.nodes[at];
                if node.bits != 0 {
                    let (slot, _) = self.slot(node.top(), node.low, node.high);
                    self.index[slot] = at as u32 + 1;
                }
            }
        }
        func
    }

    /// The slot of a node in the index, and its number if it exists.
    fn slot(&self, bit: u32, low: WordFunc, high: WordFunc) -> (usize, Option<WordFunc>) {
        let hash = (u64::from(low.0) << 32 | u64::from(high.0)) ^ u64::from(bit.ilog2()) << 27;
        let mask = self.index.len() - 1;
        let mut slot = (hash.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 32) as usize & mask;
        while let Some(at) = self.index[slot].checked_sub(1) {
            let node = &self.nodes[at as usize];
            if node.low == low && node.high == high && node.top() == bit {
                return (slot, Some(WordFunc(at)));
            }
            slot = (slot + 1) & mask;
        }
        (slot, None)
    }
}

/// The most significant bit of some bits.
fn top(bits: u32) -> u32 {
    bits.checked_ilog2().map_or(0, |bit| 1 << bit)
}

/// The results of a traversal, per node. They are forgotten by the next traversal, without work for nodes that it does not
/// visit.
pub(super) struct Known<T> {
    results: Vec<(u32, T)>,
    traversal: u32,
}

impl<T> Default for Known<T> {
    fn default() -> Known<T> {
        Known { results: Vec::new(), traversal: 0 }
    }
}

impl<T: Copy> Known<T> {
    /// Begins a traversal of some of the first `nodes` nodes.
    pub(super) fn begin(&mut self, nodes: usize, any: T) {
        if self.results.len() < nodes {
            self.results.resize(nodes, (0, any));
        }
        self.traversal += 1;
    }

    pub(super) fn get(&self, func: WordFunc) -> Option<T> {
        let (traversal, result) = self.results[func.at()];
        (traversal == self.traversal).then_some(result)
    }

    pub(super) fn set(&mut self, func: WordFunc, result: T) {
        self.results[func.at()] = (self.traversal, result);
    }
}

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

/// All bits below this one.
pub(super) fn bits_below(bit: u32) -> u32 {
    ((1u64 << bit) - 1) as u32
}

/// The number of intervals of the values below a bit, and the exits of the first and the last one.
#[derive(Clone, Copy)]
pub(super) struct Length {
    pub(super) intervals: u32,
    pub(super) first: WordFunc,
    pub(super) last: WordFunc,
}

/// How large a function is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Size {
    /// The number of nodes, without exits.
    pub(crate) nodes: usize,
    /// The number of intervals of [`WordFuncs::partition`], saturating.
    pub(crate) intervals: usize,
}

impl Length {
    /// The length of these values and then others.
    pub(super) fn followed_by(self, next: Length) -> Length {
        let joined = u32::from(self.last == next.first);
        let intervals = self.intervals.saturating_add(next.intervals - joined);
        Length { intervals, first: self.first, last: next.last }
    }
}
