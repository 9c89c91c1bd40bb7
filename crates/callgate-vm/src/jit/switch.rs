//! Chains and trees of comparisons of one value with constants become a search.
//!
//! A filter that was written as a list asks `A == 1?`, `A == 2?`, … one after the other. Where nobody
//! jumps into the middle of such a chain, only its first comparison is reached from elsewhere, and the
//! chain is a function from the value to one of its targets. Its cases are sorted (of two with the same
//! value the first wins), neighbours with one target become ranges, and ranges are grouped: values
//! close to each other that share a target are the bits of a mask, many values that lie densely are a
//! table, and among what remains there is a binary search.
//!
//! A tree of `jeq`, `jgt` and `jge` is a function in the same way; it is replaced where that makes much
//! less of it (`tree`).
//!
//! A table of verdicts is read, a table of targets jumped through. At most [`SPARSE`] words of table
//! are spent for a range, so tables stay in proportion to the program.

use callgate_bpf::Source;

use super::node::{Graph, Node};
use crate::flow::walk::{Follow, Range, Walk};

/// Chains of fewer comparisons stay as they are.
const SHORTEST: usize = 4;
/// Trees of fewer comparisons stay as they are.
const SMALLEST_TREE: usize = 12;
/// Fewer ranges are not worth a table.
const SMALLEST_TABLE: usize = 8;
/// A table has at most so many words for each range.
const SPARSE: usize = 8;
/// A mask is worth it for so many ranges.
const SMALLEST_MASK: usize = 3;

/// A chain that is replaced.
#[derive(Debug)]
pub(super) struct Switch {
    /// The first comparison.
    pub(super) head: u16,
    /// Where all other values go.
    pub(super) other: u16,
    /// In ascending order.
    pub(super) groups: Vec<Group>,
}

/// Values from `low` to `high`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Group {
    pub(super) low: u32,
    pub(super) high: u32,
    pub(super) shape: Shape,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Shape {
    /// All of them go there.
    All(u16),
    /// Those whose bit is set go there, the others where all others go. Bit 0 is for `base`.
    Mask { to: u16, base: u32, mask: u64 },
    /// To each its own, from `base` on.
    Table { base: u32, to: Vec<u16> },
}

/// Finds chains and trees. What is part of one, and not its head, is [`Node::Dead`] afterwards.
pub(super) fn find(graph: &mut Graph) -> Vec<Switch> {
    let mut found = Vec::new();
    let mut search = Search {
        in_chain: vec![false; graph.nodes.len()],
        in_tree: vec![false; graph.nodes.len()],
        walk: Walk::default(),
    };
    for head in 0..graph.nodes.len() {
        if matches!(graph.nodes[head], Node::Branch { operand: Source::K(_), .. }) {
            found.extend(search.chain(graph, head).or_else(|| search.tree(graph, head)));
        }
    }
    found
}

/// What was visited already, and memory for the next walk.
struct Search {
    /// Part of a chain that begins before it.
    in_chain: Vec<bool>,
    in_tree: Vec<bool>,
    walk: Walk,
}

impl Search {
    /// The chain that begins here.
    fn chain(&mut self, graph: &mut Graph, head: usize) -> Option<Switch> {
        if self.in_chain[head] {
            return None;
        }
        self.walk.start(&graph.flow, head, Follow::OwnEqualities, &mut usize::MAX.clone())?;
        self.walk.members().skip(1).for_each(|at| self.in_chain[at] = true);
        if self.walk.len() < SHORTEST {
            return None;
        }
        let (groups, other) = groups_of(self.walk.ranges(&graph.flow))?;
        Some(self.replace(graph, head, groups, other))
    }

    /// The tree that begins here, if tables and masks make much less of it: as a search alone it may
    /// have its shape for a reason.
    fn tree(&mut self, graph: &mut Graph, head: usize) -> Option<Switch> {
        if self.in_tree[head] {
            return None;
        }
        self.walk.start(&graph.flow, head, Follow::Own, &mut usize::MAX.clone())?;
        self.walk.members().for_each(|at| self.in_tree[at] = true);
        if self.walk.len() < SMALLEST_TREE {
            return None;
        }
        let (groups, other) = groups_of(self.walk.ranges(&graph.flow))?;
        (groups.len() <= self.walk.len() / 3).then(|| self.replace(graph, head, groups, other))
    }

    /// The comparisons after the head get no code of their own.
    fn replace(&self, graph: &mut Graph, head: usize, groups: Vec<Group>, other: u16) -> Switch {
        self.walk.members().skip(1).for_each(|at| graph.nodes[at] = Node::Dead);
        Switch { head: head as u16, other, groups }
    }
}

/// Groups of ranges, without those that lead where most values go, and that destination.
fn groups_of(mut ranges: Vec<Range>) -> Option<(Vec<Group>, u16)> {
    let &Range { to: other, key, .. } = ranges.iter().max_by_key(|range| range.high - range.low)?;
    ranges.retain(|range| range.key != key);
    Some((groups(&ranges), other))
}

fn groups(ranges: &[Range]) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut rest = ranges;
    while let Some(first) = rest.first() {
        let (mask, table) = (mask_len(rest), table_len(rest));
        let (shape, len) = if table >= SMALLEST_TABLE && table > mask + SMALLEST_MASK {
            (make_table(&rest[..table]), table)
        } else if mask >= SMALLEST_MASK {
            (make_mask(&rest[..mask]), mask)
        } else {
            (Shape::All(first.to), 1)
        };
        groups.push(Group { low: first.low, high: rest[len - 1].high, shape });
        rest = &rest[len..];
    }
    groups
}

/// How many ranges fit into one mask.
fn mask_len(ranges: &[Range]) -> usize {
    let first = ranges[0];
    let fits = |range: &&Range| range.key == first.key && range.high - first.low < 64;
    ranges.iter().take_while(fits).count()
}

/// How many ranges lie densely enough for one table.
fn table_len(ranges: &[Range]) -> usize {
    let first = ranges[0];
    let dense = |(index, range): &(usize, &Range)| {
        let words = u64::from(range.high - first.low) + 1;
        words <= (SPARSE * (index + SMALLEST_TABLE)) as u64
    };
    ranges.iter().enumerate().take_while(dense).count()
}

fn make_mask(ranges: &[Range]) -> Shape {
    let (first, last) = (ranges[0], ranges[ranges.len() - 1]);
    let base = if last.high < 64 { 0 } else { first.low };
    let bits = |range: &Range| {
        let len = range.high - range.low + 1;
        (u64::MAX >> (64 - len)) << (range.low - base)
    };
    Shape::Mask { to: first.to, base, mask: ranges.iter().map(bits).fold(0, |a, b| a | b) }
}

/// Values between the ranges are [`OTHER`].
fn make_table(ranges: &[Range]) -> Shape {
    let (first, last) = (ranges[0], ranges[ranges.len() - 1]);
    // A small base is not worth a subtraction.
    let base = if first.low < 16 { 0 } else { first.low };
    let mut to = vec![OTHER; (last.high - base) as usize + 1];
    for range in ranges {
        to[(range.low - base) as usize..=(range.high - base) as usize].fill(range.to);
    }
    Shape::Table { base, to }
}

/// In a table: where all other values go. No program has so many instructions.
pub(super) const OTHER: u16 = u16::MAX;
