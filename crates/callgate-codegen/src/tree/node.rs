//! Search trees: the intervals that they are made for, their nodes, bitset tests, and their code.

use callgate_core::Op;
use callgate_core::diagram::Split;

use super::price::Price;
use crate::Instructions;
use crate::code::{AnyBit, Code, CodeId, Graph, Held};

/// An interval of values that have the same class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WeightedInterval {
    pub(crate) first: u32,
    pub(crate) last: u32,
    /// The index of the exit that the values lead to.
    pub(crate) class: usize,
    /// How often a value of the interval occurs.
    pub(crate) weight: f64,
}

impl WeightedInterval {
    pub(crate) fn is_single(&self) -> bool {
        self.first == self.last
    }
}

/// A search tree. After a test of a mask there are only leaves, unless it leaves A unchanged. Children have smaller
/// indexes than their parents; the root is the last node.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
    /// The weighted number of tests, plus the price of their number.
    pub(crate) cost: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Node {
    /// The exit of a class.
    Leaf { class: usize },
    /// A comparison.
    Test { split: Split, then: usize, otherwise: usize },
    /// Whether the value shares a bit with the mask.
    AnyBit { mask: u32, then: usize, otherwise: usize },
    /// A bitset test: the value is in `base..base + 32`, and bit `value - base` of `bits` decides.
    Bitset { base: u32, bits: u32, then: usize, otherwise: usize },
}

impl Node {
    /// The same test with other successors.
    pub(crate) fn with_successors(self, then: usize, otherwise: usize) -> Node {
        match self {
            Node::Leaf { .. } => self,
            Node::Test { split, .. } => Node::Test { split, then, otherwise },
            Node::AnyBit { mask, .. } => Node::AnyBit { mask, then, otherwise },
            Node::Bitset { base, bits, .. } => Node::Bitset { base, bits, then, otherwise },
        }
    }
}

impl Tree {
    pub(crate) fn push(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    /// The number of instructions, if the test of a mask is one.
    pub(crate) fn insns(&self) -> f64 {
        let insns = self.nodes.iter().map(|node| match node {
            Node::Leaf { .. } => 0.0,
            Node::Test { .. } | Node::AnyBit { .. } => 1.0,
            Node::Bitset { base, .. } => bitset_insns(*base),
        });
        insns.sum()
    }

    pub(super) fn leaf(&mut self, class: usize) -> usize {
        self.push(Node::Leaf { class })
    }

    /// An equality test of a single value before the existing node `otherwise`.
    pub(super) fn equal(&mut self, single: &WeightedInterval, otherwise: usize) -> usize {
        let then = self.leaf(single.class);
        self.push(Node::Test { split: Split::Equal(single.first), then, otherwise })
    }

    /// Equality tests of single values, in this order, before the existing node `rest`.
    pub(super) fn chain<'i>(
        &mut self,
        singles: impl DoubleEndedIterator<Item = &'i WeightedInterval>,
        rest: usize,
    ) -> usize {
        singles.rev().fold(rest, |otherwise, single| self.equal(single, otherwise))
    }

    /// The test of a mask that separates two classes.
    pub(super) fn any_bit(&mut self, test: MaskTest) -> usize {
        let then = self.leaf(test.set);
        let otherwise = self.leaf(test.clear);
        self.push(Node::AnyBit { mask: test.mask, then, otherwise })
    }

    /// The bitset test of consecutive intervals.
    pub(super) fn bitset(&mut self, intervals: &[WeightedInterval]) -> usize {
        let [first, second, ..] = intervals else { return self.leaf(0) };
        let of_set = intervals.iter().filter(|interval| interval.class == second.class);
        let values = of_set.flat_map(|interval| interval.first..=interval.last);
        let bits = values.fold(0, |bits, value| bits | 1 << (value - first.first));
        let then = self.leaf(second.class);
        let otherwise = self.leaf(first.class);
        self.push(Node::Bitset { base: first.first, bits, then, otherwise })
    }
}

/// A mask, the class of values that share a bit with it, and the class of the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MaskTest {
    pub(crate) mask: u32,
    pub(crate) set: usize,
    pub(crate) clear: usize,
}

/// The code of a search tree whose classes continue at `exits`; after a test that overwrites A, at
/// `exits_without_a`.
pub(crate) fn tree_code(
    graph: &mut Graph,
    instructions: Instructions,
    tree: &Tree,
    exits: &[CodeId],
    exits_without_a: &[CodeId],
    held: Held,
) -> CodeId {
    let mut ids: Vec<CodeId> = Vec::with_capacity(tree.nodes.len());
    for node in &tree.nodes {
        let without_a = |node: usize| match tree.nodes[node] {
            Node::Leaf { class } => exits_without_a[class],
            _ => ids[node],
        };
        let id = match *node {
            Node::Leaf { class } => exits[class],
            Node::Test { split, then, otherwise } => {
                let (op, k) = match split {
                    Split::Equal(k) => (Op::JeqK, k),
                    Split::AtLeast(k) => (Op::JgeK, k),
                };
                let (then, otherwise) = (ids[then], ids[otherwise]);
                graph.branch(held, op, k, then, otherwise)
            }
            Node::AnyBit { mask, then, otherwise } => {
                let test = AnyBit::new(instructions, held.mask, mask);
                let (then, otherwise) = match test.keeps_a() {
                    true => (ids[then], ids[otherwise]),
                    false => (without_a(then), without_a(otherwise)),
                };
                test.forgetting().add(graph, held.word, then, otherwise)
            }
            Node::Bitset { base, bits, then, otherwise } => {
                let (then, otherwise) = (without_a(then), without_a(otherwise));
                graph.add(Code::Bitset { held, base, bits, then, otherwise })
            }
        };
        ids.push(id);
    }
    ids[tree.nodes.len() - 1]
}

/// The maximum number of consecutive values of a bitset test: up to 32 values of two classes index a constant with a bit for
/// each (`sub`, `tax`, `ld #bits`, `rsh x`, `jset #1`).
pub(super) const MAX_BITSET: u32 = 32;

/// The minimum number of intervals of a bitset test. For fewer, comparisons are at least as cheap.
const MIN_BITSET_INTERVALS: usize = 5;

/// The number of instructions of a bitset test of the values from this one on. All of them are executed.
pub(super) fn bitset_insns(first: u32) -> f64 {
    if first == 0 { 4.0 } else { 5.0 }
}

/// The cost for consecutive intervals of this weight, if a bitset test decides them.
pub(super) fn bitset_cost(
    intervals: &[WeightedInterval],
    weight: f64,
    price: Price,
) -> Option<f64> {
    let ([first, second, ..], Some(last)) = (intervals, intervals.last()) else { return None };
    if intervals.len() < MIN_BITSET_INTERVALS || last.last - first.first >= MAX_BITSET {
        return None;
    }
    let is_of_two = |of: &WeightedInterval| of.class == first.class || of.class == second.class;
    let is_possible = price.bitset_tests && intervals.iter().all(is_of_two);
    is_possible.then(|| bitset_insns(first.first) * (price.size + weight))
}
