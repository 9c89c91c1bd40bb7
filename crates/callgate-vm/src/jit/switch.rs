//! Chains and trees of comparisons with constants become bitset tests, tables and binary searches.
//!
//! A filter that was written as a list compares A with one constant after the other. If such a chain is
//! entered at its first comparison only, it is a function from the value of A to a destination, which a
//! [`Walk`] computes as ranges. Ranges are then grouped: close values with the same destination become a
//! bitset test, dense values a table, and a binary search chooses among the groups.
//!
//! A tree of `jeq`, `jgt` and `jge` is such a function as well. It is replaced if that makes it much
//! smaller.
//!
//! A table holds verdicts to return or displacements to jump by. It has at most [`SPARSE`] words per
//! range, so the size of all tables is linear in the length of the program.

use callgate_bpf::{Op, Source};

use super::node::{Graph, Node};
use crate::flow::Flow;
use crate::flow::walk::{Follow, Range, Walk};

/// Shorter chains are not replaced.
const SHORTEST: usize = 4;
/// Trees with fewer comparisons are not replaced.
const SMALLEST_TREE: usize = 12;
/// The fewest ranges of a table.
const SMALLEST_TABLE: usize = 8;
/// The most words of a table per range.
const SPARSE: usize = 8;
/// The fewest ranges of a bitset test.
const SMALLEST_MASK: usize = 3;

/// A chain or tree that is replaced.
#[derive(Debug)]
pub(super) struct Switch {
    /// The first comparison.
    pub(super) head: u16,
    /// The destination of all other values.
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
    /// All of them have this destination.
    All(u16),
    /// Values whose bit is set have this destination; bit 0 is for `base`.
    Mask { to: u16, base: u32, mask: u64 },
    /// Each value from `base` on has its own destination.
    Table { base: u32, to: Vec<u16> },
}

/// Finds chains and trees. Their comparisons become [`Node::Dead`], except for the first.
pub(super) fn find(graph: &mut Graph) -> Vec<Switch> {
    let mut found = Vec::new();
    let sizes = sizes(&graph.flow);
    let mut search = Search {
        in_chain: vec![false; graph.nodes.len()],
        in_tree: vec![false; graph.nodes.len()],
        walk: Walk::default(),
    };
    for (head, sizes) in sizes.into_iter().enumerate() {
        if !matches!(graph.nodes[head], Node::Branch { operand: Source::K(_), .. }) {
            continue;
        }
        // Most begin nothing, so no switch is moved for them.
        if sizes.chain >= SHORTEST as u16
            && let Some(switch) = search.chain(graph, head)
        {
            found.push(switch);
        } else if sizes.tree >= SMALLEST_TREE as u16
            && let Some(switch) = search.tree(graph, head)
        {
            found.push(switch);
        }
    }
    found
}

/// The greatest lengths of the chain and the tree that may begin at an instruction, so that most walks are saved.
#[derive(Clone, Copy, Default)]
struct Sizes {
    chain: u16,
    tree: u16,
}

fn sizes(flow: &Flow) -> Vec<Sizes> {
    let mut sizes = vec![Sizes::default(); flow.len()];
    for (at, insn) in flow.insns().enumerate().rev() {
        // What a walk may follow: edges that are the only ones to their target, also through jumps.
        let own = |to: usize| if flow.edges(to) == 1 { sizes[to] } else { Sizes::default() };
        let (taken, otherwise) = (at + 1 + usize::from(insn.jt), at + 1 + usize::from(insn.jf));
        sizes[at] = match insn.op {
            Op::JeqK => {
                let after = own(otherwise);
                Sizes { chain: 1 + after.chain, tree: 1 + after.tree }
            }
            // They end a chain.
            Op::JgtK | Op::JgeK => {
                Sizes { chain: 0, tree: 1 + own(taken).tree + own(otherwise).tree }
            }
            Op::Ja => own(at + 1 + insn.k as usize),
            _ => continue,
        };
    }
    sizes
}

/// Which comparisons were visited, and memory for the next walk.
struct Search {
    /// Part of a chain that begins earlier.
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

    /// The tree that begins here, if tables and bitset tests make it much smaller: otherwise its shape
    /// may reflect the frequencies of values.
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

    /// Removes the comparisons after the first one.
    fn replace(&self, graph: &mut Graph, head: usize, groups: Vec<Group>, other: u16) -> Switch {
        self.walk.members().skip(1).for_each(|at| graph.nodes[at] = Node::Dead);
        Switch { head: head as u16, other, groups }
    }
}

/// The destination of most values, and the groups of all other ranges.
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

/// How many ranges fit into one bitset test.
fn mask_len(ranges: &[Range]) -> usize {
    let first = ranges[0];
    let fits = |range: &&Range| range.key == first.key && range.high - first.low < 64;
    ranges.iter().take_while(fits).count()
}

/// How many ranges are dense enough for one table.
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

/// Values between the ranges have the destination [`OTHER`].
fn make_table(ranges: &[Range]) -> Shape {
    let (first, last) = (ranges[0], ranges[ranges.len() - 1]);
    // A table from 0 on saves a subtraction.
    let base = if first.low < 16 { 0 } else { first.low };
    let mut to = vec![OTHER; (last.high - base) as usize + 1];
    for range in ranges {
        to[(range.low - base) as usize..=(range.high - base) as usize].fill(range.to);
    }
    Shape::Table { base, to }
}

/// In a table: the destination of all other values. Programs are shorter than this.
pub(super) const OTHER: u16 = u16::MAX;
