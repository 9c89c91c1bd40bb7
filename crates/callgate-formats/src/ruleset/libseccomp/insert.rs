//! Merging of a new rule into a tree, and the contradictions that it finds.

use super::prune::seen;
use super::tree::{Branch, ChainOp, Class, Edge, Id, InsertError, Insertion, Node, Slot, Tree};
use crate::ruleset::comparison::{Comparison, Op};

impl Tree {
    /// Adds the rule with this index, whose comparisons are in normal form.
    pub(in crate::ruleset) fn add(
        &mut self,
        tests: &[Comparison],
        verdict: u32,
        rule: u32,
    ) -> Insertion {
        if self.always {
            return Ok(());
        }
        self.verdict = verdict;
        let Some(new) = self.chain(tests, rule) else {
            self.always = true;
            return Ok(());
        };
        if self.root.is_some() {
            let mut found = 0;
            let freed = self.prune(self.root, Some(new), &mut found)?;
            if self.root.is_some() {
                if freed == 0 && found & seen::REDUNDANT == seen::REDUNDANT {
                    return Ok(());
                }
                self.insert(Slot::Root, new)?;
                return self.release_level(new);
            }
        }
        self.root = Some(new);
        Ok(())
    }
}

impl Tree {
    /// Creates the nodes of a rule. Returns the first one, or `None` for a rule without comparisons.
    pub(super) fn chain(&mut self, tests: &[Comparison], rule: u32) -> Option<Id> {
        let (mut first, verdict) = (None, self.verdict);
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
            Op::Eq => (ChainOp::Eq, Class::Equal, Branch::True),
            Op::Ne => (ChainOp::Eq, Class::Equal, Branch::False),
            Op::MaskedEq(_) => (ChainOp::MaskedEq, Class::Equal, Branch::True),
            Op::Gt => (ChainOp::Gt, Class::Above, Branch::True),
            Op::Ge => (ChainOp::Ge, Class::Above, Branch::True),
            Op::Le => (ChainOp::Gt, Class::Below, Branch::False),
            Op::Lt => (ChainOp::Ge, Class::Below, Branch::False),
        };
        let (mask, value) = match test.op() {
            Op::MaskedEq(mask) => (mask, test.value()),
            _ => (u64::MAX, test.value()),
        };
        let mut node = |high: bool, op: ChainOp| {
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
                    (node(true, ChainOp::Gt), node(true, ChainOp::Eq), node(false, op));
                self.connect(above, Branch::False, equal);
                self.connect(equal, Branch::True, low);
                let high = if class == Class::Above { above } else { equal };
                (above, vec![(high, branch), (low, branch)])
            }
        }
    }
}

impl Tree {
    /// Inserts the nodes of a new rule into the level in a slot.
    pub(super) fn insert(&mut self, slot: Slot, new: Id) -> Insertion {
        let mut at = self.get(slot);
        while let Some(id) = at {
            self.step()?;
            let (Some(node), Some(rule)) = (self.node(id), self.node(new)) else { break };
            if node.compares_like(rule) {
                return self.merge(id, new);
            }
            if node.comes_after(rule) {
                let previous = node.previous;
                self.hold(new);
                self.change(id, |node| node.previous = Some(new));
                self.change(new, |node| (node.previous, node.next) = (previous, Some(id)));
                match previous {
                    Some(previous) => {
                        self.hold(new);
                        self.change(previous, |node| node.next = Some(new));
                        // The references that the two neighbours had to each other now count for the new node.
                    }
                    None => self.hold(id),
                }
                if self.get(slot) == Some(id) {
                    self.hold(new);
                    self.set(slot, Some(new));
                    self.release(id)?;
                }
                return Ok(());
            }
            at = node.next;
            if at.is_none() {
                self.hold(id);
                self.hold(new);
                self.change(id, |node| node.next = Some(new));
                self.change(new, |node| node.previous = Some(id));
            }
        }
        Ok(())
    }

    /// Merges a node of a new rule, and the nodes after it, into a node with the same comparison.
    fn merge(&mut self, id: Id, new: Id) -> Insertion {
        for branch in [Branch::True, Branch::False] {
            let (given, there) = (self.edge(new, branch), self.edge(id, branch));
            if !given.decided {
                continue;
            }
            if !there.decided {
                if let Some(earlier) = self.other_verdict(there.child, given.verdict)? {
                    return Err(InsertError::Rejected { earlier });
                }
                if let Some(child) = there.child {
                    self.release(child)?;
                }
                self.change(id, |node| *node.edge_mut(branch) = given);
            } else if given.verdict != there.verdict {
                self.prefer(id, new, branch);
                let is_leaf = |id| self.node(id).is_some_and(Node::is_leaf);
                if is_leaf(id) || is_leaf(new) {
                    return Err(InsertError::Rejected { earlier: there.rule });
                }
            }
        }
        for branch in [Branch::True, Branch::False] {
            let Some(child) = self.edge(new, branch).child else { continue };
            let there = self.edge(id, branch);
            if there.child.is_some() {
                self.insert(Slot::Edge(id, branch), child)?;
            } else if there.decided {
                return Ok(());
            } else {
                self.connect(id, branch, child);
            }
        }
        Ok(())
    }

    /// Where two rules share a branch of a high word, keeps the verdict of the larger value, or on the false branch that
    /// of the smaller value.
    fn prefer(&mut self, id: Id, new: Id, branch: Branch) {
        let (Some(node), Some(rule)) = (self.node(id), self.node(new)) else { return };
        let wins = match branch {
            Branch::True => rule.value > node.value,
            Branch::False => rule.value < node.value,
        };
        if rule.is_high() && wins {
            let branch = if self.wrong_branch { Branch::True } else { branch };
            let end = *rule.edge(branch);
            self.change(id, |node| {
                let to = node.edge_mut(branch);
                (to.verdict, to.rule) = (end.verdict, end.rule);
            });
        }
    }

    /// A rule with another verdict than this one on a level or below it.
    pub(super) fn other_verdict(
        &mut self,
        level: Option<Id>,
        verdict: u32,
    ) -> Insertion<Option<u32>> {
        let Some(id) = level else { return Ok(None) };
        let mut at = Some(self.head(id)?);
        while let Some(node) = at.and_then(|id| self.node(id)).copied() {
            self.step()?;
            for end in [&node.on_true, &node.on_false] {
                if end.decided && end.verdict != verdict {
                    return Ok(Some(end.rule));
                }
            }
            for end in [&node.on_true, &node.on_false] {
                if let Some(rule) = self.other_verdict(end.child, verdict)? {
                    return Ok(Some(rule));
                }
            }
            at = node.next;
        }
        Ok(None)
    }
}
