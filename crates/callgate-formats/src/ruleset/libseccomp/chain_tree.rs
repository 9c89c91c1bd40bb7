//! The tree of a syscall in the form in which libseccomp prints it (`seccomp_export_pfc(3)`).

use super::node::{Edge, Id, NodeOp};
use super::tree::Tree;
use callgate_core::Verdict;

/// A comparison of one 32-bit word with a constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainNode {
    /// The argument, 0 to 5.
    pub arg: u8,
    /// Whether it is the high word of a 64-bit argument.
    pub is_high: bool,
    /// The operator. NE, LE and LT use the false branch of EQ, GT and GE.
    pub op: ChainOp,
    /// The bits that are compared.
    pub mask: u32,
    /// The constant.
    pub datum: u32,
    /// What follows if the comparison holds.
    pub on_true: ChainEnd,
    /// What follows if it does not hold.
    pub on_false: ChainEnd,
}

/// The operator of a [`ChainNode`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ChainOp {
    Eq,
    MaskedEq,
    Gt,
    Ge,
}

/// Where a branch of a [`ChainNode`] leads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChainEnd {
    /// To the next node of the level.
    Nothing,
    /// To a verdict.
    Verdict(Verdict),
    /// To further comparisons, in order of precedence.
    Level(Vec<ChainNode>),
}

impl Tree {
    /// The comparisons of the first level, with all that follow.
    pub(in crate::ruleset) fn chains(&self) -> Vec<ChainNode> {
        self.root.map(|root| self.level(root)).unwrap_or_default()
    }

    /// The number of different nodes.
    pub(in crate::ruleset) fn node_count(&self) -> usize {
        let mut seen = vec![false; self.nodes.len()];
        let (mut open, mut count): (Vec<Id>, usize) = (self.root.into_iter().collect(), 0);
        while let Some(id) = open.pop() {
            let Some(seen) = seen.get_mut(id).filter(|seen| !**seen) else { continue };
            *seen = true;
            count += 1;
            let Some(node) = self.node(id) else { continue };
            let next = [node.on_true.child, node.on_false.child, node.previous, node.next];
            open.extend(next.into_iter().flatten());
        }
        count
    }

    fn level(&self, id: Id) -> Vec<ChainNode> {
        let mut at = id;
        while let Some(previous) = self.node(at).and_then(|node| node.previous) {
            at = previous;
        }
        let mut level = Vec::new();
        let mut next = Some(at);
        while let Some(node) = next.and_then(|id| self.node(id)) {
            level.push(ChainNode {
                arg: node.word / 2,
                is_high: node.is_high(),
                op: match node.op {
                    NodeOp::Eq => ChainOp::Eq,
                    NodeOp::MaskedEq => ChainOp::MaskedEq,
                    NodeOp::Gt => ChainOp::Gt,
                    NodeOp::Ge => ChainOp::Ge,
                },
                mask: node.mask,
                datum: node.datum,
                on_true: self.end(node.on_true),
                on_false: self.end(node.on_false),
            });
            next = node.next;
        }
        level
    }

    fn end(&self, edge: Edge) -> ChainEnd {
        match edge.child {
            _ if edge.decided => ChainEnd::Verdict(Verdict(edge.verdict)),
            Some(child) => ChainEnd::Level(self.level(child)),
            None => ChainEnd::Nothing,
        }
    }
}
