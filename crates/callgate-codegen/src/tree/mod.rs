//! Search trees: the cheapest way to find the run of values that a word lies in, by comparisons
//! with two outcomes (`jeq`, `jge` and `jset`).
//!
//! This is the optimal binary search tree with two-way comparisons (Anderson, Kannan, Karloff and
//! Ladner 2002; Chrobak, Golin, Munro and Young 2015), with three additions: runs that lead to the
//! same place need not be told apart, every comparison also costs its size, and values may be told
//! apart by a mask.
//!
//! - [`few`]: up to [`few::EXACT`] runs, exactly, over all sets of runs that comparisons may leave;
//! - [`ranges`]: more runs, by a dynamic program over ranges. It is exact where no value is tested
//!   for equality before the range is small, and close to it elsewhere;
//! - [`bits`]: which masks tell runs apart.
//!
//! Above [`Price::whole`] runs the range is first cut in halves of equal weight.

pub(super) mod bits;
mod few;
mod ranges;

use super::Aim;
use callgate_proof::diagram::Split;

/// Up to how many runs of an argument's values the dynamic program sees as a whole for speed.
pub(super) const ARGUMENT_WHOLE: usize = 48;

/// A run of values that lead to the same place.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Run {
    pub(super) first: u32,
    pub(super) last: u32,
    /// Which place.
    pub(super) class: usize,
    /// How often a value of the run occurs.
    pub(super) weight: f64,
}

impl Run {
    fn is_single(&self) -> bool {
        self.first == self.last
    }
}

/// A search tree. Children have smaller indices than their parents; the root is the last node.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Tree {
    pub(super) nodes: Vec<Node>,
    /// Weighted number of tests, and the price of their number.
    pub(super) cost: f64,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Node {
    Leaf {
        class: usize,
    },
    Test {
        split: Split,
        then: usize,
        otherwise: usize,
    },
    /// The value has a bit of the mask.
    AnyBit {
        mask: u32,
        then: usize,
        otherwise: usize,
    },
    /// The value is one of `base..base + 32`, and its bit in `bits` decides.
    Window {
        base: u32,
        bits: u32,
        then: usize,
        otherwise: usize,
    },
}

/// What tests cost, and which there are besides comparisons.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Price {
    /// One instruction more in the program, in executed instructions.
    pub(super) size: f64,
    /// Whether tests of bits are allowed.
    pub(super) masks: bool,
    /// Whether masks are looked for in larger ranges too, behind tests of single values.
    pub(super) masked_rests: bool,
    /// Whether windows are allowed. The kernel does not see that a call is always allowed when one
    /// stands on its path.
    pub(super) windows: bool,
    /// The longest chain of equality tests.
    pub(super) chain: usize,
    /// Up to how many runs the dynamic program sees a range as a whole; it takes O(n³).
    pub(super) whole: usize,
    /// In such a range, for how many runs in a row trees are the best of all; it takes O(n · 2^near).
    pub(super) near: usize,
}

impl Price {
    /// For arch and number. The longest chain is far beyond what is ever worth it.
    pub(super) fn of_number(aim: Aim) -> Price {
        Price {
            size: aim.size_price(),
            masks: true,
            masked_rests: true,
            windows: false,
            chain: 48,
            whole: 96,
            near: 5,
        }
    }

    /// For an argument: it is looked at for one call only, which may be a rare one, so an instruction
    /// counts for more than it does among the numbers. Still no list of values is walked one by one.
    pub(super) fn of_argument(aim: Aim) -> Price {
        let (size, chain, whole) = match aim {
            Aim::Speed => (1.0, 8, ARGUMENT_WHOLE),
            // Each piece costs a test, and four thousand values must still fit.
            Aim::Size => (4.0, 128, 256),
        };
        Price { size, masks: true, masked_rests: false, windows: true, chain, whole, near: 5 }
    }
}

/// The cheapest tree found for runs that cover all values, in order and without gaps.
pub(super) fn search_tree(runs: &[Run], price: Price) -> Tree {
    let mut tree = Tree::default();
    let root = cut(runs, price, &mut tree);
    // The root is made last in every case but that of a single leaf reused, which is alone then.
    debug_assert_eq!(root + 1, tree.nodes.len());
    tree
}

/// From this share of the weight on, a single value is tested for equality first of all (Chrobak et
/// al.: it is at 4/9 in some optimal tree, and below 1/4 in none).
const DOMINANT: f64 = 0.3;

/// Cuts a range into halves of equal weight until the dynamic program can take over.
fn cut(runs: &[Run], price: Price, tree: &mut Tree) -> usize {
    let total: f64 = runs.iter().map(|run| run.weight).sum();
    if runs.len() <= price.whole {
        return ranges::Ranges::new(runs, price).build(tree);
    }
    if let Some(at) = dominant(runs, total, price) {
        let rest = [&runs[..at], &runs[at + 1..]].concat();
        let otherwise = cut(&rest, price, tree);
        tree.cost += total + price.size;
        return tree.equal(&runs[at], otherwise);
    }
    // A little weight for the number of runs, so that ranges without weight are halved too.
    let share = |run: &Run| run.weight / total.max(f64::MIN_POSITIVE) + 0.1 / runs.len() as f64;
    let mut left = 0.0;
    let mut at = 1;
    for (i, run) in runs.iter().enumerate().take(runs.len() - runs.len() / 16) {
        left += share(run);
        at = i + 1;
        // Never too uneven, so that the depth is logarithmic.
        if left >= 0.55 && at >= runs.len() / 16 {
            break;
        }
    }
    let (low, high) = runs.split_at(at);
    let otherwise = cut(low, price, tree);
    let then = cut(high, price, tree);
    let first = high.first().map_or(0, |run| run.first);
    tree.cost += total + price.size;
    tree.push(Node::Test { split: Split::AtLeast(first), then, otherwise })
}

/// The single value with so much of the weight that it comes first.
fn dominant(runs: &[Run], total: f64, price: Price) -> Option<usize> {
    // Without a test of its own it would be behind some more; that must be worth an instruction.
    let heavy =
        |run: &Run| run.is_single() && run.weight > DOMINANT * total && run.weight > price.size;
    runs.iter().position(heavy)
}

impl Node {
    /// The same test with other sides.
    pub(super) fn with_sides(self, then: usize, otherwise: usize) -> Node {
        match self {
            Node::Leaf { .. } => self,
            Node::Test { split, .. } => Node::Test { split, then, otherwise },
            Node::AnyBit { mask, .. } => Node::AnyBit { mask, then, otherwise },
            Node::Window { base, bits, .. } => Node::Window { base, bits, then, otherwise },
        }
    }
}

impl Tree {
    pub(super) fn push(&mut self, node: Node) -> usize {
        self.nodes.push(node);
        self.nodes.len() - 1
    }

    fn leaf(&mut self, class: usize) -> usize {
        self.push(Node::Leaf { class })
    }

    /// A test whether the value is that of a single run; `otherwise` is there already.
    fn equal(&mut self, single: &Run, otherwise: usize) -> usize {
        let then = self.leaf(single.class);
        self.push(Node::Test { split: Split::Equal(single.first), then, otherwise })
    }

    /// The test of a mask that tells two classes apart.
    fn any_bit(&mut self, pair: bits::Pair) -> usize {
        let then = self.leaf(pair.set);
        let otherwise = self.leaf(pair.clear);
        self.push(Node::AnyBit { mask: pair.mask, then, otherwise })
    }
}

#[cfg(test)]
mod tests;
