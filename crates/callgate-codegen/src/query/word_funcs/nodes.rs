//! The nodes of functions of one word.

use rustc_hash::FxHashMap as HashMap;

use super::super::bits::{Bounds, memo};
use super::func::WordFunc;
use super::known::Known;
use super::length::Length;
use callgate_core::Word;
use callgate_core::diagram::{Func, Store};

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
            copied: memo(),
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
