//! The backward pass: what nobody reads is not computed, and jumps lead where something happens.
//!
//! As in the forward pass, one pass is exact: everything that comes after a node was seen before it.

use super::facts::Forward;
use super::node::{Ask, Node, Reg, end};
use crate::operation::{Alu, Cmp, Operand};

/// The program after both passes.
pub(super) struct Flow {
    pub(super) nodes: Vec<Node>,
    /// From how many edges each node is reached.
    pub(super) edges: Vec<u16>,
    /// Where to go in place of each node: past everything that does nothing.
    pub(super) dest: Vec<u16>,
    /// What is read before it is written, from each node on.
    pub(super) live: Vec<Live>,
}

/// Registers and scratch words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Live(u32);

impl Live {
    pub(super) const A: Live = Live(1 << 16);
    pub(super) const X: Live = Live(1 << 17);

    fn reg(reg: Reg) -> Live {
        match reg {
            Reg::A => Live::A,
            Reg::X => Live::X,
        }
    }

    fn scratch(index: u8) -> Live {
        Live(1 << index)
    }

    pub(super) fn has(self, other: Live) -> bool {
        self.0 & other.0 != 0
    }

    pub(super) fn and(self, other: Live) -> Live {
        Live(self.0 | other.0)
    }

    fn without(self, other: Live) -> Live {
        Live(self.0 & !other.0)
    }
}

impl Flow {
    /// What is read after a branch.
    pub(super) fn live_after(&self, yes: u16, no: u16) -> Live {
        self.live[usize::from(yes)].and(self.live[usize::from(no)])
    }

    /// The node that is executed in place of this one.
    pub(super) fn target(&self, index: u16) -> Node {
        self.nodes[usize::from(self.dest[usize::from(index)])]
    }

    /// The value that is returned at a node, if that is all there is.
    pub(super) fn returned(&self, index: u16) -> Option<u32> {
        match self.target(index) {
            Node::Ret(value) => Some(value),
            _ => None,
        }
    }
}

/// Runs the pass.
pub(super) fn backward(forward: Forward) -> Flow {
    let Forward { nodes, edges } = forward;
    let len = nodes.len();
    let mut flow = Flow { nodes, edges, dest: vec![0; len], live: vec![Live::default(); len] };
    for index in (0..len).rev() {
        flow.step(index);
    }
    flow
}

impl Flow {
    fn step(&mut self, index: usize) {
        if let Node::Branch { .. } = self.nodes[index] {
            self.simplify_branch(index);
        }
        let (live, dest) = match self.nodes[index] {
            Node::Dead | Node::Ret(_) => (Live::default(), index as u16),
            Node::RetA => (Live::A, index as u16),
            Node::Jump(to) => (self.live[usize::from(to)], self.dest[usize::from(to)]),
            Node::Branch { operand, yes, no, .. } => {
                (self.live_after(yes, no).and(Live::A).and(read(operand)), index as u16)
            }
            node => {
                let (node, live) = straight(node, self.live[index + 1]);
                self.nodes[index] = node;
                let nothing = matches!(node, Node::Nop);
                (live, if nothing { self.dest[index + 1] } else { index as u16 })
            }
        };
        self.live[index] = live;
        self.dest[index] = dest;
    }

    /// A branch that decides nothing is none; `and #m; jeq #0` is a `jset` where nobody else reads A.
    fn simplify_branch(&mut self, index: usize) {
        let Node::Branch { test, operand, yes, no } = self.nodes[index] else { return };
        if self.dest[usize::from(yes)] == self.dest[usize::from(no)]
            || self.is_decided_by_next(test, operand, yes, no)
        {
            let behind = usize::from(no) == index + 1;
            self.nodes[index] = if behind { Node::Nop } else { Node::Jump(no) };
            return;
        }
        if (test, operand) == (Cmp::Eq, Operand::K(0))
            && self.edges[index] == 1
            && !self.live_after(yes, no).has(Live::A)
            && let Some(before) = index.checked_sub(1)
            && let Node::Alu(Alu::And, mask) = self.nodes[before]
        {
            self.nodes[before] = Node::Nop;
            self.nodes[index] = Node::Branch { test: Cmp::Set, operand: mask, yes: no, no: yes };
        }
    }

    /// Whether what is equal goes where the comparison after this one sends it, too, as it is equal to
    /// something else.
    fn is_decided_by_next(&self, test: Cmp, operand: Operand, yes: u16, no: u16) -> bool {
        let Node::Branch { test: Cmp::Eq, operand: Operand::K(next), no: others, .. } =
            self.target(no)
        else {
            return false;
        };
        let differs = matches!((test, operand), (Cmp::Eq, Operand::K(k)) if k != next);
        differs && self.dest[usize::from(yes)] == self.dest[usize::from(others)]
    }
}

fn read(operand: Operand) -> Live {
    match operand {
        Operand::K(_) => Live::default(),
        Operand::X => Live::X,
    }
}

/// A node in front of another one: what is left of it when only this is read afterwards, and what is
/// read with it.
fn straight(node: Node, next: Live) -> (Node, Live) {
    let define = |reg: Reg, reads: Live| {
        let reg = Live::reg(reg);
        if next.has(reg) { (node, next.without(reg).and(reads)) } else { (Node::Nop, next) }
    };
    match node {
        Node::Imm(reg, _) | Node::Length(reg) => define(reg, Live::default()),
        Node::Fetch(reg, index) => define(reg, Live::scratch(index)),
        Node::Load { width, offset, check: true } if !next.has(Live::A) => {
            (Node::Check(end(offset, width)), next)
        }
        Node::Load { .. } => define(Reg::A, Live::default()),
        Node::HeaderLength { offset, check: true } if !next.has(Live::X) => {
            (Node::Check(offset + 1), next)
        }
        Node::HeaderLength { .. } => define(Reg::X, Live::default()),
        // These may end the program, so they stay.
        Node::Indexed { .. } => (node, next.without(Live::A).and(Live::X)),
        Node::Outside { ask, .. } => match ask {
            Ask::Word => (node, next.and(Live::A).and(Live::X)),
            Ask::Load(_) => (node, next.without(Live::A)),
            Ask::HeaderLength => (node, next.without(Live::X)),
        },
        Node::Alu(Alu::Div | Alu::Mod, Operand::X) => (node, next.and(Live::A).and(Live::X)),
        Node::Alu(_, operand) => define(Reg::A, Live::A.and(read(operand))),
        Node::Neg => define(Reg::A, Live::A),
        Node::Tax => define(Reg::X, Live::A),
        Node::Txa => define(Reg::A, Live::X),
        Node::Store(reg, index) => {
            let word = Live::scratch(index);
            if next.has(word) {
                (node, next.without(word).and(Live::reg(reg)))
            } else {
                (Node::Nop, next)
            }
        }
        _ => (node, next),
    }
}
