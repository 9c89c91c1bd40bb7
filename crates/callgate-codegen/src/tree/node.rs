//! Search trees and their nodes.

use super::interval::WeightedInterval;
use super::masks::MaskTest;
use callgate_core::diagram::Split;

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
    Leaf {
        class: usize,
    },
    Test {
        split: Split,
        then: usize,
        otherwise: usize,
    },
    /// Whether the value shares a bit with the mask.
    AnyBit {
        mask: u32,
        then: usize,
        otherwise: usize,
    },
    /// A bitset test: the value is in `base..base + 32`, and bit `value - base` of `bits` decides.
    Bitset {
        base: u32,
        bits: u32,
        then: usize,
        otherwise: usize,
    },
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
            Node::Bitset { base: 0, .. } => 4.0,
            Node::Bitset { .. } => 5.0,
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
}
