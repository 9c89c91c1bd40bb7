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

mod tree;

use super::live::Flow;
use super::node::Node;
use callgate::bpf::{Relation, Source};
use tree::Tree;

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
    pub(super) kind: Kind,
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// All of them go there.
    All(u16),
    /// Those whose bit is set go there, the others where all others go. Bit 0 is for `base`.
    Mask { to: u16, base: u32, mask: u64 },
    /// To each its own, from `base` on.
    Table { base: u32, to: Vec<u16> },
}

/// Finds chains and trees. What is part of one, and not its head, is [`Node::Dead`] afterwards.
pub(super) fn find(flow: &mut Flow) -> Vec<Switch> {
    let mut found = Vec::new();
    let mut search = Search {
        in_chain: vec![false; flow.nodes.len()],
        in_tree: vec![false; flow.nodes.len()],
        cases: Vec::new(),
        tree: Tree::default(),
    };
    for head in 0..flow.nodes.len() {
        if matches!(flow.nodes[head], Node::Branch { operand: Source::K(_), .. }) {
            found.extend(search.chain(flow, head).or_else(|| search.tree(flow, head)));
        }
    }
    found
}

/// What was looked at already, and memory for the next look.
struct Search {
    /// Part of a chain that begins before it.
    in_chain: Vec<bool>,
    in_tree: Vec<bool>,
    cases: Vec<(u32, u16)>,
    tree: Tree,
}

impl Search {
    /// The chain that begins here.
    fn chain(&mut self, flow: &mut Flow, head: usize) -> Option<Switch> {
        if self.in_chain[head] {
            return None;
        }
        let (mut k, mut yes, mut no) = equality(flow, head)?;
        self.cases.clear();
        let mut last = head;
        loop {
            self.cases.push((k, yes));
            match after(flow, no).and_then(|index| Some((index, equality(flow, index)?))) {
                Some((index, next)) => (last, (k, yes, no)) = (index, next),
                None => break,
            }
            self.in_chain[last] = true;
        }
        if self.cases.len() < SHORTEST {
            return None;
        }
        let other = no;
        let groups = groups(&distinct(flow, &mut self.cases, key(flow, other)));
        bury(flow, head, last);
        Some(Switch { head: head as u16, other, groups })
    }

    /// The tree that begins here, if tables and masks make much less of it: as a search alone it may
    /// have its shape for a reason.
    fn tree(&mut self, flow: &mut Flow, head: usize) -> Option<Switch> {
        let Search { in_tree, tree, .. } = self;
        if in_tree[head] {
            return None;
        }
        tree.go_below(flow, head);
        tree.indexes().for_each(|index| in_tree[index] = true);
        if tree.len() < SMALLEST_TREE {
            return None;
        }
        let mut ranges = tree.ranges(flow);
        // The largest values are nothing in particular.
        let Range { to: other, key, .. } = ranges.pop()?;
        ranges.retain(|range| range.key != key);
        let groups = groups(&ranges);
        if groups.len() > tree.len() / 3 {
            return None;
        }
        tree.indexes().skip(1).for_each(|index| flow.nodes[index] = Node::Dead);
        Some(Switch { head: head as u16, other, groups })
    }
}

/// The comparison with a constant at this node.
fn equality(flow: &Flow, index: usize) -> Option<(u32, u16, u16)> {
    match flow.nodes[index] {
        Node::Branch { test: Relation::Equal, operand: Source::K(k), yes, no } => {
            Some((k, yes, no))
        }
        _ => None,
    }
}

/// The node that one goes to from an edge, when nobody else does on the way or there.
fn after(flow: &Flow, mut index: u16) -> Option<usize> {
    loop {
        if flow.edges[usize::from(index)] != 1 {
            return None;
        }
        match flow.nodes[usize::from(index)] {
            Node::Nop => index += 1,
            Node::Jump(to) => index = to,
            _ => return Some(usize::from(index)),
        }
    }
}

/// The comparisons after the head have no code of their own.
fn bury(flow: &mut Flow, head: usize, last: usize) {
    let mut at = head;
    while at != last {
        let Some((_, _, no)) = equality(flow, at) else { return };
        if at != head {
            flow.nodes[at] = Node::Dead;
        }
        match after(flow, no) {
            Some(next) => at = next,
            None => return,
        }
    }
    if at != head {
        flow.nodes[at] = Node::Dead;
    }
}

/// A range of values with one target.
#[derive(Clone, Copy)]
struct Range {
    low: u32,
    high: u32,
    to: u16,
    /// Equal for targets that do the same.
    key: u64,
}

/// What tells targets apart: for returns the value.
fn key(flow: &Flow, to: u16) -> u64 {
    match flow.target(to) {
        Node::Ret(value) => 1 << 32 | u64::from(value),
        _ => u64::from(flow.dest[usize::from(to)]),
    }
}

/// The ranges of a chain, without those that lead where all other values go.
fn distinct(flow: &Flow, cases: &mut [(u32, u16)], other: u64) -> Vec<Range> {
    // Of two with the same value the first counts, so the sort must be stable.
    cases.sort_by_key(|&(k, _)| k);
    let mut ranges: Vec<Range> = Vec::with_capacity(cases.len());
    let mut before = None;
    for &(k, to) in &*cases {
        if before == Some(k) {
            continue;
        }
        before = Some(k);
        let key = key(flow, to);
        match ranges.last_mut() {
            _ if key == other => {}
            Some(range) if range.key == key && range.high.wrapping_add(1) == k => range.high = k,
            _ => ranges.push(Range { low: k, high: k, to, key }),
        }
    }
    ranges
}

fn groups(ranges: &[Range]) -> Vec<Group> {
    let mut groups = Vec::new();
    let mut rest = ranges;
    while let Some(first) = rest.first() {
        let (mask, table) = (mask_len(rest), table_len(rest));
        let (kind, len) = if table >= SMALLEST_TABLE && table > mask + SMALLEST_MASK {
            (make_table(&rest[..table]), table)
        } else if mask >= SMALLEST_MASK {
            (make_mask(&rest[..mask]), mask)
        } else {
            (Kind::All(first.to), 1)
        };
        groups.push(Group { low: first.low, high: rest[len - 1].high, kind });
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

fn make_mask(ranges: &[Range]) -> Kind {
    let (first, last) = (ranges[0], ranges[ranges.len() - 1]);
    let base = if last.high < 64 { 0 } else { first.low };
    let bits = |range: &Range| {
        let len = range.high - range.low + 1;
        (u64::MAX >> (64 - len)) << (range.low - base)
    };
    Kind::Mask { to: first.to, base, mask: ranges.iter().map(bits).fold(0, |a, b| a | b) }
}

/// Values between the ranges are [`OTHER`].
fn make_table(ranges: &[Range]) -> Kind {
    let (first, last) = (ranges[0], ranges[ranges.len() - 1]);
    // A small base is not worth a subtraction.
    let base = if first.low < 16 { 0 } else { first.low };
    let mut to = vec![OTHER; (last.high - base) as usize + 1];
    for range in ranges {
        to[(range.low - base) as usize..=(range.high - base) as usize].fill(range.to);
    }
    Kind::Table { base, to }
}

/// In a table: where all other values go. No program has so many instructions.
pub(super) const OTHER: u16 = u16::MAX;
