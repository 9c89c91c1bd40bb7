//! The backward pass: what nobody reads is not computed, and jumps lead where something happens.
//!
//! As in the forward pass, one pass is exact: everything that comes after a node was seen before it.

use super::facts::Forward;
use super::node::{Ask, Node, Reg, end};
use callgate::bpf::cfg::Registers;
use callgate::bpf::{Alu, Relation, Source};

/// The program after both passes.
pub(super) struct Flow {
    pub(super) nodes: Vec<Node>,
    /// From how many edges each node is reached.
    pub(super) edges: Vec<u16>,
    /// Where to go in place of each node: past everything that does nothing.
    pub(super) dest: Vec<u16>,
    /// What is read before it is written, from each node on.
    pub(super) live: Vec<Registers>,
}

impl Flow {
    /// What is read after a branch.
    pub(super) fn live_after(&self, yes: u16, no: u16) -> Registers {
        self.live[usize::from(yes)].union(self.live[usize::from(no)])
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
    let mut flow = Flow { nodes, edges, dest: vec![0; len], live: vec![Registers::NONE; len] };
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
            Node::Dead | Node::Ret(_) => (Registers::NONE, index as u16),
            Node::RetA => (Registers::A, index as u16),
            Node::Jump(to) => (self.live[usize::from(to)], self.dest[usize::from(to)]),
            Node::Branch { operand, yes, no, .. } => {
                (self.live_after(yes, no).union(Registers::A).union(read(operand)), index as u16)
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
        if (test, operand) == (Relation::Equal, Source::K(0))
            && self.edges[index] == 1
            && !self.live_after(yes, no).intersects(Registers::A)
            && let Some(before) = index.checked_sub(1)
            && let Node::Alu(Alu::And, mask) = self.nodes[before]
        {
            self.nodes[before] = Node::Nop;
            self.nodes[index] =
                Node::Branch { test: Relation::Shares, operand: mask, yes: no, no: yes };
        }
    }

    /// Whether what is equal goes where the comparison after this one sends it, too, as it is equal to
    /// something else.
    fn is_decided_by_next(&self, test: Relation, operand: Source, yes: u16, no: u16) -> bool {
        let Node::Branch { test: Relation::Equal, operand: Source::K(next), no: others, .. } =
            self.target(no)
        else {
            return false;
        };
        let differs = matches!((test, operand), (Relation::Equal, Source::K(k)) if k != next);
        differs && self.dest[usize::from(yes)] == self.dest[usize::from(others)]
    }
}

fn register(reg: Reg) -> Registers {
    match reg {
        Reg::A => Registers::A,
        Reg::X => Registers::X,
    }
}

fn read(operand: Source) -> Registers {
    match operand {
        Source::K(_) => Registers::NONE,
        Source::X => Registers::X,
    }
}

/// A node in front of another one: what is left of it when only this is read afterwards, and what is
/// read with it.
fn straight(node: Node, next: Registers) -> (Node, Registers) {
    let define = |reg: Reg, reads: Registers| {
        let reg = register(reg);
        if next.intersects(reg) {
            (node, next.without(reg).union(reads))
        } else {
            (Node::Nop, next)
        }
    };
    match node {
        Node::Imm(reg, _) | Node::Length(reg) => define(reg, Registers::NONE),
        Node::Fetch(reg, index) => define(reg, Registers::scratch(index.into())),
        Node::Load { width, offset, check: true } if !next.intersects(Registers::A) => {
            (Node::Check(end(offset, width)), next)
        }
        Node::Load { .. } => define(Reg::A, Registers::NONE),
        Node::HeaderLength { offset, check: true } if !next.intersects(Registers::X) => {
            (Node::Check(offset + 1), next)
        }
        Node::HeaderLength { .. } => define(Reg::X, Registers::NONE),
        // These may end the program, so they stay.
        Node::Indexed { .. } => (node, next.without(Registers::A).union(Registers::X)),
        Node::Outside { ask, .. } => match ask {
            Ask::Word => (node, next.union(Registers::A).union(Registers::X)),
            Ask::Load(_) => (node, next.without(Registers::A)),
            Ask::HeaderLength => (node, next.without(Registers::X)),
        },
        Node::Alu(Alu::Div | Alu::Mod, Source::X) => {
            (node, next.union(Registers::A).union(Registers::X))
        }
        Node::Alu(_, operand) => define(Reg::A, Registers::A.union(read(operand))),
        Node::Neg => define(Reg::A, Registers::A),
        Node::Tax => define(Reg::X, Registers::A),
        Node::Txa => define(Reg::A, Registers::X),
        Node::Store(reg, index) => {
            let word = Registers::scratch(index.into());
            if next.intersects(word) {
                (node, next.without(word).union(register(reg)))
            } else {
                (Node::Nop, next)
            }
        }
        _ => (node, next),
    }
}
