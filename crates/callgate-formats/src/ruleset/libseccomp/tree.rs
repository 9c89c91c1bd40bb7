//! The tree of one syscall: its nodes by index, with reference counts.

use super::node::{Branch, Edge, Id, Node, Slot};

/// Why a rule was not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ruleset) enum InsertError {
    /// libseccomp rejects it, because it contradicts this earlier rule.
    Rejected { earlier: u32 },
    /// The step budget ran out before that was known.
    OutOfSteps,
}

/// The number of nodes that may still be visited.
#[derive(Clone, Copy, Debug)]
pub(in crate::ruleset) struct StepBudget(pub(in crate::ruleset) u64);

impl StepBudget {
    /// Counts one visited node.
    pub(super) fn take(&mut self) -> Result<(), InsertError> {
        self.0 = self.0.checked_sub(1).ok_or(InsertError::OutOfSteps)?;
        Ok(())
    }
}

/// The rules of one syscall on one architecture.
#[derive(Clone, Debug)]
pub(in crate::ruleset) struct Tree {
    pub(super) nodes: Vec<Node>,
    pub(super) root: Option<Id>,
    /// Whether arguments have two words.
    pub(super) is_64bit: bool,
    /// Before 2.6.1: where two rules share the false branch of a high word (LT, LE, NE), the verdict of the true branch
    /// is overwritten instead.
    pub(super) wrong_branch: bool,
    /// Whether an unconditional rule decides.
    pub(super) always: bool,
}

impl Tree {
    pub(in crate::ruleset) fn new(is_64bit: bool, before_2_6_1: bool) -> Tree {
        Tree { nodes: Vec::new(), root: None, is_64bit, wrong_branch: before_2_6_1, always: false }
    }

    pub(super) fn node(&self, id: Id) -> Option<&Node> {
        self.nodes.get(id)
    }

    pub(super) fn edge(&self, id: Id, branch: Branch) -> Edge {
        self.node(id).map_or(Edge::default(), |node| *node.edge(branch))
    }

    pub(super) fn get(&self, slot: Slot) -> Option<Id> {
        match slot {
            Slot::Root => self.root,
            Slot::Edge(id, branch) => self.edge(id, branch).child,
        }
    }

    pub(super) fn set(&mut self, slot: Slot, to: Option<Id>) {
        match slot {
            Slot::Root => self.root = to,
            Slot::Edge(id, branch) => self.change(id, |node| node.edge_mut(branch).child = to),
        }
    }

    pub(super) fn change(&mut self, id: Id, change: impl FnOnce(&mut Node)) {
        if let Some(node) = self.nodes.get_mut(id) {
            change(node);
        }
    }

    /// Adds a reference to a node.
    pub(super) fn hold(&mut self, id: Id) {
        self.change(id, |node| node.references += 1);
    }

    /// Makes a branch of a node lead to another node, which gains a reference.
    pub(super) fn connect(&mut self, from: Id, branch: Branch, to: Id) {
        self.hold(to);
        self.change(from, |node| node.edge_mut(branch).child = Some(to));
    }

    /// The first node of the level of this node.
    pub(super) fn head(&self, id: Id, steps: &mut StepBudget) -> Result<Id, InsertError> {
        let mut head = id;
        while let Some(previous) = self.node(head).and_then(|node| node.previous) {
            steps.take()?;
            head = previous;
        }
        Ok(head)
    }
}
