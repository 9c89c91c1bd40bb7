//! Chains and trees of comparisons with constants become bitset tests, tables and binary searches.
//!
//! A filter that was written as a list compares A with one constant after the other. If such a chain is
//! entered at its first comparison only, it is a function from the value of A to a destination, which a
//! [`Walk`] computes as ranges. Ranges are then grouped: close values with the same destination become a
//! bitset test, dense values a table, and a binary search chooses among the groups. Three groups or fewer
//! that return constants are a choice, which needs no jump, and no table.
//!
//! A tree of `jeq`, `jgt` and `jge` is such a function as well. It is replaced by a choice, or if that makes
//! it much smaller. Trees at its end that other paths lead to as well are replaced with it, and remain for
//! these paths: in a program for x86-64 and x32, numbers of both lead to the same tests.
//!
//! A table holds verdicts to return or displacements to jump by. The tables of a switch span at most
//! [`SPARSE`] values per range, so the size of all tables is linear in the length of the program.

use callgate_core::{Op, Source};

use super::node::{Graph, Node};
use crate::flow::Flow;
use crate::flow::walk::{Follow, Range, Walk};

/// Shorter chains are not replaced, unless they become a choice.
const SHORTEST: usize = 4;
/// Trees with fewer comparisons are not replaced, unless they become a choice.
const SMALLEST_TREE: usize = 12;
/// The fewest ranges of a table.
const SMALLEST_TABLE: usize = 8;
/// The most values that the tables of a switch span, per range, those of other values included; fewer than
/// 2 * [`SMALLEST_TABLE`] ranges may span as many as these.
const SPARSE: usize = 8;
/// The most steps of walks over shared comparisons, per instruction of the program.
const SHARED: usize = 4;
/// The fewest ranges of a bitset test.
const SMALLEST_MASK: usize = 3;
/// At most this many groups are tested one after the other.
pub(super) const LIST: usize = 3;

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

/// Finds chains and trees. Their comparisons become [`Node::Dead`], except for the first and those that other paths lead to.
pub(super) fn find(graph: &mut Graph) -> Vec<Switch> {
    let len = graph.nodes.len();
    let mut found = Vec::new();
    let mut search = Search {
        sizes: sizes(&graph.flow),
        in_chain: vec![false; len],
        in_tree: vec![false; len],
        walk: Walk::default(),
        shared: Walk::default(),
        work: SHARED * len,
        is_shared: false,
    };
    for head in 0..len {
        if matches!(graph.nodes[head], Node::Branch { operand: Source::K(_), .. }) {
            // Most begin nothing, so no switch is moved for them.
            if let Some(switch) = search.switch(graph, head) {
                found.push(switch);
            }
        }
    }
    if search.is_shared {
        remove_unreached(graph, &mut found);
    }
    found
}

/// Removes what no path leads to any more, because a switch contains comparisons that several paths led to.
fn remove_unreached(graph: &mut Graph, found: &mut Vec<Switch>) {
    let mut reached = vec![false; graph.nodes.len()];
    let mut switches = found.iter().peekable();
    reach(&mut reached, graph, 0);
    // All jumps go forward.
    for at in 0..graph.nodes.len() {
        let switch = switches.next_if(|switch| usize::from(switch.head) == at);
        match graph.nodes[at] {
            Node::Nop | Node::Jump(_) => {}
            _ if !reached[at] => graph.nodes[at] = Node::Dead,
            Node::Dead | Node::Ret(_) | Node::RetA => {}
            Node::Branch { yes, no, .. } => match switch {
                Some(switch) => {
                    switch.for_each_target(|to| reach(&mut reached, graph, to));
                }
                None => {
                    reach(&mut reached, graph, yes);
                    reach(&mut reached, graph, no);
                }
            },
            _ => reach(&mut reached, graph, at as u16 + 1),
        }
    }
    found.retain(|switch| reached[usize::from(switch.head)]);
}

fn reach(reached: &mut [bool], graph: &Graph, to: u16) {
    if let Some(reached) = reached.get_mut(graph.flow.dest(to.into())) {
        *reached = true;
    }
}

impl Switch {
    /// Calls `f` with all destinations, with some of them several times.
    fn for_each_target(&self, mut f: impl FnMut(u16)) {
        f(self.other);
        for group in &self.groups {
            match &group.shape {
                &Shape::All(to) | &Shape::Mask { to, .. } => f(to),
                Shape::Table { to, .. } => {
                    to.iter().filter(|&&to| to != OTHER).for_each(|&to| f(to))
                }
            }
        }
    }
}

/// What the chain and the tree that begin at an instruction are at most, so that most walks are saved.
#[derive(Clone, Copy, Default)]
struct Sizes {
    chain: Size,
    tree: Size,
}

/// Twice the number of comparisons, and 1 if all values return a constant. Programs are shorter than 2^15.
#[derive(Clone, Copy, Default, PartialEq)]
struct Size(u16);

impl Size {
    fn end(returns: bool) -> Size {
        Size(returns.into())
    }

    fn len(self) -> usize {
        usize::from(self.0 / 2)
    }

    /// Of a comparison with these sides.
    fn of(taken: Size, otherwise: Size) -> Size {
        Size((2 + (taken.0 & !1) + (otherwise.0 & !1)) | (taken.0 & otherwise.0 & 1))
    }

    fn may_be_replaced(self, shortest: usize) -> bool {
        self.len() >= if self.0 & 1 == 1 { 2 } else { shortest }
    }
}

fn sizes(flow: &Flow) -> Vec<Sizes> {
    let mut sizes = vec![Sizes::default(); flow.len()];
    for (at, insn) in flow.insns().enumerate().rev() {
        let end =
            |to: usize| Size::end(flow.insn(flow.dest(to)).is_some_and(|insn| insn.op == Op::RetK));
        // What a walk may follow: edges that are the only ones to their target, also through jumps.
        let own = |to: usize| match sizes[to] {
            Sizes { chain, tree } if tree.len() > 0 && flow.edges(to) == 1 => {
                Sizes { chain: if chain.len() > 0 { chain } else { end(to) }, tree }
            }
            _ => Sizes { chain: end(to), tree: end(to) },
        };
        let (taken, otherwise) = (at + 1 + usize::from(insn.jt), at + 1 + usize::from(insn.jf));
        sizes[at] = match insn.op {
            Op::JeqK => {
                let (taken, after) = (end(taken), own(otherwise));
                Sizes { chain: Size::of(taken, after.chain), tree: Size::of(taken, after.tree) }
            }
            // They end a chain.
            Op::JgtK | Op::JgeK => Sizes {
                chain: Size::default(),
                tree: Size::of(own(taken).tree, own(otherwise).tree),
            },
            Op::Ja => own(at + 1 + insn.k as usize),
            _ => continue,
        };
    }
    sizes
}

/// Which comparisons were visited, and memory for the next walk.
struct Search {
    sizes: Vec<Sizes>,
    /// Part of a chain that begins earlier.
    in_chain: Vec<bool>,
    in_tree: Vec<bool>,
    walk: Walk,
    /// The walk with comparisons that other paths lead to, and the steps that are left for such walks.
    shared: Walk,
    work: usize,
    /// A switch contains such comparisons.
    is_shared: bool,
}

impl Search {
    /// The chain or the tree that begins here. Most comparisons begin none.
    fn switch(&mut self, graph: &mut Graph, head: usize) -> Option<Switch> {
        let Sizes { chain, tree } = self.sizes[head];
        if chain.may_be_replaced(SHORTEST)
            && let Some(switch) = self.chain(graph, head)
        {
            return Some(switch);
        }
        if tree.may_be_replaced(SMALLEST_TREE) && tree.len() != chain.len() {
            return self.tree(graph, head);
        }
        None
    }

    /// The chain that begins here.
    fn chain(&mut self, graph: &mut Graph, head: usize) -> Option<Switch> {
        if self.in_chain[head] {
            return None;
        }
        self.walk.start(&graph.flow, head, Follow::OwnEqualities, &mut usize::MAX.clone())?;
        self.walk.members().skip(1).for_each(|at| self.in_chain[at] = true);
        let len = self.walk.len();
        let grouped = Search::grouped(graph, self.walk.ranges(&graph.flow), len)?;
        (grouped.is_choice || len >= SHORTEST).then(|| self.replace(graph, head, grouped))
    }

    /// The tree that begins here, if tables and bitset tests make it much smaller: otherwise its shape
    /// may reflect the frequencies of values, which matter to jumps alone.
    fn tree(&mut self, graph: &mut Graph, head: usize) -> Option<Switch> {
        if self.in_tree[head] {
            return None;
        }
        self.walk.start(&graph.flow, head, Follow::Own, &mut usize::MAX.clone())?;
        self.walk.members().for_each(|at| self.in_tree[at] = true);
        let len = self.walk.len();
        let ranges = self.walk.ranges(&graph.flow);
        let all = if len < SMALLEST_TREE { None } else { self.all(graph, head, &ranges) };
        let is_shared = all.is_some();
        let grouped = Search::grouped(graph, all.unwrap_or(ranges), len)?;
        let is_smaller = len >= SMALLEST_TREE && grouped.groups.len() <= len / 3;
        (grouped.is_choice || is_smaller).then(|| {
            self.is_shared |= is_shared;
            self.replace(graph, head, grouped)
        })
    }

    /// The ranges of a tree with the trees that other paths lead to as well, if some of its ranges end there. These
    /// trees remain.
    fn all(&mut self, graph: &Graph, head: usize, own: &[Range]) -> Option<Vec<Range>> {
        let is_tree = |range: &Range| self.sizes[usize::from(range.to)].tree.len() >= SMALLEST_TREE;
        if !own.iter().any(is_tree) {
            return None;
        }
        self.shared.start(&graph.flow, head, Follow::All, &mut self.work)?;
        Some(self.shared.ranges(&graph.flow))
    }

    /// The ranges of a walk over this number of comparisons, in groups.
    fn grouped(graph: &Graph, mut ranges: Vec<Range>, len: usize) -> Option<Grouped> {
        if len < 2 {
            return None;
        }
        let words = SPARSE * ranges.len().max(2 * SMALLEST_TABLE);
        let Range { to: other, key, .. } = usual(&ranges)?;
        ranges.retain(|range| range.key != key);
        let returns = |to| graph.returned(to).is_some();
        if returns(other)
            && ranges.iter().all(|range| returns(range.to))
            && let Some(groups) = groups(&ranges, 0, LIST)
        {
            return Some(Grouped { groups, other, is_choice: true });
        }
        let groups = groups(&ranges, words, usize::MAX)?;
        Some(Grouped { groups, other, is_choice: false })
    }

    /// Removes the comparisons after the first one.
    fn replace(&self, graph: &mut Graph, head: usize, grouped: Grouped) -> Switch {
        self.walk.members().skip(1).for_each(|at| graph.nodes[at] = Node::Dead);
        Switch { head: head as u16, other: grouped.other, groups: grouped.groups }
    }
}

/// Groups, and the destination of all other values.
struct Grouped {
    groups: Vec<Group>,
    other: u16,
    /// All values return constants, and a list of tests without tables chooses among them: [`super::lower`] needs no jump.
    is_choice: bool,
}

/// The destination of other values: of the two with the widest ranges, that with more ranges. Often these are the numbers
/// without a rule and those of x32, which have one range.
fn usual(ranges: &[Range]) -> Option<Range> {
    let widest = |without: Option<u64>| {
        let others = ranges.iter().filter(|range| Some(range.key) != without);
        others.max_by_key(|range| range.high - range.low).copied()
    };
    let first = widest(None)?;
    let Some(second) = widest(Some(first.key)) else { return Some(first) };
    let count = |of: Range| ranges.iter().filter(|range| range.key == of.key).count();
    Some(if count(second) > count(first) { second } else { first })
}

/// At most `most` groups, whose tables have at most this number of words.
fn groups(ranges: &[Range], mut words: usize, most: usize) -> Option<Vec<Group>> {
    let mut groups = Vec::new();
    let mut rest = ranges;
    while let Some(first) = rest.first() {
        if groups.len() == most {
            return None;
        }
        let (mask, table) = (mask_len(rest), table_len(rest, words));
        let (shape, len) = if table >= SMALLEST_TABLE && table > mask + SMALLEST_MASK {
            let shape = make_table(&rest[..table]);
            if let Shape::Table { to, .. } = &shape {
                words -= to.len();
            }
            (shape, table)
        } else if mask >= SMALLEST_MASK {
            (make_mask(&rest[..mask]), mask)
        } else {
            (Shape::All(first.to), 1)
        };
        groups.push(Group { low: first.low, high: rest[len - 1].high, shape });
        rest = &rest[len..];
    }
    Some(groups)
}

/// How many ranges fit into one bitset test.
fn mask_len(ranges: &[Range]) -> usize {
    let first = ranges[0];
    let fits = |range: &&Range| range.key == first.key && range.high - first.low < 64;
    ranges.iter().take_while(fits).count()
}

/// How many ranges fit into one table of this number of words.
fn table_len(ranges: &[Range], words: usize) -> usize {
    let base = first_of_table(ranges[0].low);
    let fits = |range: &&Range| ((range.high - base) as usize) < words;
    ranges.iter().take_while(fits).count()
}

/// A table from 0 on saves a subtraction.
fn first_of_table(low: u32) -> u32 {
    if low < 16 { 0 } else { low }
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
    let base = first_of_table(first.low);
    let mut to = vec![OTHER; (last.high - base) as usize + 1];
    for range in ranges {
        to[(range.low - base) as usize..=(range.high - base) as usize].fill(range.to);
    }
    Shape::Table { base, to }
}

/// In a table: the destination of all other values. Programs are shorter than this.
pub(super) const OTHER: u16 = u16::MAX;

#[cfg(test)]
mod tests;
