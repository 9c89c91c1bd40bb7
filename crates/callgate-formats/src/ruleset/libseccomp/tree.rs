//! The tree of one syscall: its nodes by index, with reference counts.

use callgate_core::Verdict;

/// The index of a node in the tree's arena.
pub(super) type Id = usize;

/// The operator of a comparison of words. NE, LE and LT use the false branch of EQ, GT and GE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)]
pub enum ChainOp {
    Eq,
    MaskedEq,
    Gt,
    Ge,
}

/// The class of the rule's operator. On a level, the larger class comes first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Class {
    /// GT and GE.
    Above,
    /// LT and LE.
    Below,
    /// EQ, NE and MASKED_EQ.
    Equal,
}

/// The two branches of a node.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Branch {
    True,
    False,
}

/// Where a branch leads: to a verdict, to a level of nodes, or nowhere.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Edge {
    pub(super) decided: bool,
    /// Kept and compared even if `decided` is false.
    pub(super) verdict: u32,
    /// The index of the rule that gave the verdict.
    pub(super) rule: u32,
    pub(super) child: Option<Id>,
}

impl Edge {
    pub(super) fn leads_anywhere(&self) -> bool {
        self.decided || self.child.is_some()
    }
}

/// A comparison of one word with a constant.
#[derive(Clone, Copy, Debug)]
pub(super) struct Node {
    /// 2 × argument, plus 1 for the high word.
    pub(super) word: u8,
    pub(super) op: ChainOp,
    pub(super) class: Class,
    pub(super) mask: u32,
    pub(super) datum: u32,
    /// The whole 64-bit value of which `datum` is a word.
    pub(super) value: u64,
    pub(super) on_true: Edge,
    pub(super) on_false: Edge,
    /// The neighbours on its level, on which nodes are in order of precedence.
    pub(super) previous: Option<Id>,
    pub(super) next: Option<Id>,
    pub(super) references: u32,
}

impl Node {
    pub(super) fn edge(&self, branch: Branch) -> &Edge {
        match branch {
            Branch::True => &self.on_true,
            Branch::False => &self.on_false,
        }
    }

    pub(super) fn edge_mut(&mut self, branch: Branch) -> &mut Edge {
        match branch {
            Branch::True => &mut self.on_true,
            Branch::False => &mut self.on_false,
        }
    }

    pub(super) fn is_high(&self) -> bool {
        self.word & 1 == 1
    }

    pub(super) fn is_leaf(&self) -> bool {
        self.on_true.child.is_none() && self.on_false.child.is_none()
    }

    pub(super) fn compares_like(&self, other: &Node) -> bool {
        (self.word, self.op, self.mask, self.datum)
            == (other.word, other.op, other.mask, other.datum)
    }

    /// Whether the other node decides before this one.
    pub(super) fn comes_after(&self, other: &Node) -> bool {
        let datum = match self.class {
            Class::Below => self.datum > other.datum,
            Class::Equal | Class::Above => self.datum < other.datum,
        };
        let (left, right) = ((self.word, self.class), (other.word, other.class));
        left < right || (left == right && datum)
    }
}

/// Where the reference to a level is stored.
#[derive(Clone, Copy, Debug)]
pub(super) enum Slot {
    Root,
    Edge(Id, Branch),
}

/// Why a rule was not added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::ruleset) enum InsertError {
    /// libseccomp rejects it, because it contradicts this earlier rule.
    Rejected { earlier: u32 },
    /// The step budget ran out before that was known.
    OutOfSteps,
}

/// What a step of the insertion returns.
pub(super) type Insertion<T = ()> = Result<T, InsertError>;

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
    /// The verdict of the rule that is being added.
    pub(super) verdict: u32,
    /// The number of nodes that may still be visited.
    pub(in crate::ruleset) steps: u64,
}

impl Tree {
    pub(in crate::ruleset) fn new(is_64bit: bool, wrong_branch: bool, steps: u64) -> Tree {
        Tree {
            nodes: Vec::new(),
            root: None,
            is_64bit,
            wrong_branch,
            always: false,
            verdict: 0,
            steps,
        }
    }

    /// Counts one visited node.
    pub(super) fn step(&mut self) -> Insertion {
        self.steps = self.steps.checked_sub(1).ok_or(InsertError::OutOfSteps)?;
        Ok(())
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
    pub(super) fn head(&mut self, id: Id) -> Insertion<Id> {
        let mut head = id;
        while let Some(previous) = self.node(head).and_then(|node| node.previous) {
            self.step()?;
            head = previous;
        }
        Ok(head)
    }
}

/// A comparison of one 32-bit word with a constant.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChainNode {
    /// The argument, 0 to 5.
    pub arg: u8,
    /// Whether it is the high word of a 64-bit argument.
    pub is_high: bool,
    /// The operator.
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
                op: node.op,
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
