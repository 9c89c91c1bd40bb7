//! Nodes of the tree: comparisons of one word.

/// The index of a node in the tree's arena.
pub(super) type Id = usize;

/// The operator of a node. NE, LE and LT use the false branch of EQ, GT and GE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NodeOp {
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
    pub(super) op: NodeOp,
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
