//! The nodes of one rule, before they are merged into a tree.

use super::node::{Branch, Class, Edge, Id, Node, NodeOp};
use super::tree::Tree;
use crate::ruleset::comparison::{Comparison, Op};

impl Tree {
    /// Creates the nodes of a rule. Returns the first one, or `None` for a rule without comparisons.
    pub(super) fn chain(&mut self, tests: &[Comparison], verdict: u32, rule: u32) -> Option<Id> {
        let mut first = None;
        // The branches on which the previous comparison holds.
        let mut open: Vec<(Id, Branch)> = Vec::new();
        for test in tests {
            let (start, branches) = self.comparison(test);
            open.iter().for_each(|(from, branch)| self.connect(*from, *branch, start));
            if first.is_none() {
                self.hold(start);
                first = Some(start);
            }
            open = branches;
        }
        for (from, branch) in open {
            self.change(from, |node| {
                let end = node.edge_mut(branch);
                (end.decided, end.verdict, end.rule) = (true, verdict, rule);
            });
        }
        first
    }

    /// Creates the nodes of one comparison. Returns the first one, and the branches on which the comparison holds.
    fn comparison(&mut self, test: &Comparison) -> (Id, Vec<(Id, Branch)>) {
        let (op, class, branch) = match test.op() {
            Op::Eq => (NodeOp::Eq, Class::Equal, Branch::True),
            Op::Ne => (NodeOp::Eq, Class::Equal, Branch::False),
            Op::MaskedEq(_) => (NodeOp::MaskedEq, Class::Equal, Branch::True),
            Op::Gt => (NodeOp::Gt, Class::Above, Branch::True),
            Op::Ge => (NodeOp::Ge, Class::Above, Branch::True),
            Op::Le => (NodeOp::Gt, Class::Below, Branch::False),
            Op::Lt => (NodeOp::Ge, Class::Below, Branch::False),
        };
        let (mask, value) = match test.op() {
            Op::MaskedEq(mask) => (mask, test.value()),
            _ => (u64::MAX, test.value()),
        };
        let mut node = |high: bool, op: NodeOp| {
            let half = |value: u64| if high { (value >> 32) as u32 } else { value as u32 };
            self.nodes.push(Node {
                word: 2 * test.arg() + u8::from(high),
                op,
                class,
                mask: half(mask),
                datum: half(value) & half(mask),
                value,
                on_true: Edge::default(),
                on_false: Edge::default(),
                previous: None,
                next: None,
                references: 0,
            });
            self.nodes.len() - 1
        };
        if !self.is_64bit {
            let low = node(false, op);
            return (low, vec![(low, branch)]);
        }
        match class {
            Class::Equal => {
                let (high, low) = (node(true, op), node(false, op));
                self.connect(high, Branch::True, low);
                let branches = match branch {
                    Branch::True => vec![(low, branch)],
                    Branch::False => vec![(high, branch), (low, branch)],
                };
                (high, branches)
            }
            Class::Above | Class::Below => {
                let (above, equal, low) =
                    (node(true, NodeOp::Gt), node(true, NodeOp::Eq), node(false, op));
                self.connect(above, Branch::False, equal);
                self.connect(equal, Branch::True, low);
                let high = if class == Class::Above { above } else { equal };
                (above, vec![(high, branch), (low, branch)])
            }
        }
    }
}
