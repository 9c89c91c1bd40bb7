//! A socket filter as a graph: instructions with their successors, so that an edge can lead elsewhere.
//!
//! Invariant: an edge leads to a later node, so that every graph is a program without loops, whose jumps go forward.

use std::collections::HashMap;

use callgate_core::cfg::Successors;
use callgate_core::{Insn, Op, SocketProgram};

/// An instruction, and the nodes that follow it: two for a branch, of which the first is taken if its condition holds. A
/// return has none; its fields are its own number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node {
    pub(super) insn: Insn,
    pub(super) next: [usize; 2],
}

/// The start of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Edge {
    /// The start of the program.
    Entry,
    /// The first or the second successor of a node; both of a node that is not a branch.
    From(usize, usize),
}

/// Instructions without jumps, in an order in which edges go forward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Graph {
    nodes: Vec<Node>,
    entry: usize,
}

/// How long a program is, and how long it runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Cost {
    /// The number of instructions.
    pub(super) insns: usize,
    /// The maximum number of executed instructions.
    pub(super) longest: usize,
    /// The sum of the maximum numbers from each instruction on.
    pub(super) all: usize,
}

impl Cost {
    /// Whether it is better in one respect, and in none worse.
    pub(super) fn improves(self, on: Cost) -> bool {
        self < on && self.insns <= on.insns && self.longest <= on.longest
    }
}

/// The cost of a program.
pub(super) fn cost(insns: &[Insn]) -> Cost {
    let mut heights = vec![1; insns.len()];
    for (index, insn) in insns.iter().enumerate().rev() {
        let after = insn.successors(index).into_iter().filter_map(|next| heights.get(next));
        let height = 1 + after.copied().max().unwrap_or(0);
        if let Some(slot) = heights.get_mut(index) {
            *slot = height;
        }
    }
    let longest = heights.first().copied().unwrap_or(0);
    Cost { insns: insns.len(), longest, all: heights.iter().sum() }
}

impl Graph {
    /// The graph of a program.
    pub(super) fn of(program: &SocketProgram) -> Graph {
        let insns = program.insns();
        // Where a jump leads, from the last instruction to the first.
        let mut ends: Vec<usize> = (0..insns.len()).collect();
        for (index, insn) in insns.iter().enumerate().rev() {
            if let Successors::Jump(target) = insn.successors(index) {
                let end = ends.get(target).copied().unwrap_or(target);
                if let Some(slot) = ends.get_mut(index) {
                    *slot = end;
                }
            }
        }
        let end = |at: usize| ends.get(at).copied().unwrap_or(at);
        let nodes = insns.iter().enumerate().map(|(index, insn)| {
            let next = match insn.successors(index) {
                Successors::Return => [index; 2],
                Successors::Next(next) | Successors::Jump(next) => [end(next); 2],
                Successors::Branch { taken, otherwise } => [end(taken), end(otherwise)],
            };
            Node { insn: plain(*insn), next }
        });
        Graph { nodes: nodes.collect(), entry: end(0) }
    }

    /// The reachable nodes, in order.
    pub(super) fn reachable(&self) -> Vec<usize> {
        let mut reached = vec![false; self.nodes.len()];
        let mut all = Vec::new();
        if let Some(entry) = reached.get_mut(self.entry) {
            *entry = true;
        }
        for (index, node) in self.nodes.iter().enumerate() {
            if !reached.get(index).copied().unwrap_or(false) {
                continue;
            }
            all.push(index);
            for next in node.next {
                if let Some(next) = reached.get_mut(next) {
                    *next = true;
                }
            }
        }
        all
    }

    pub(super) fn node(&self, index: usize) -> Option<Node> {
        self.nodes.get(index).copied()
    }

    /// The edges of a node, with the nodes to which they lead; of the first one, also the start.
    pub(super) fn edges_of(&self, index: usize) -> impl Iterator<Item = (Edge, usize)> + use<> {
        let entry = (index == self.entry).then_some((Edge::Entry, index));
        let sides = match self.node(index).map(|node| node.insn.op) {
            Some(op) if op.is_branch() => 2,
            Some(op) if !op.is_return() => 1,
            _ => 0,
        };
        let next = self.node(index).map_or([index; 2], |node| node.next);
        let of_side = move |(side, to)| (Edge::From(index, side), to);
        entry.into_iter().chain(next.into_iter().enumerate().take(sides).map(of_side))
    }

    /// The nodes that follow a node within so many steps, without itself, in order.
    pub(super) fn after(&self, index: usize, steps: usize) -> Vec<usize> {
        let mut found: Vec<usize> = Vec::new();
        let mut last = vec![index];
        for _ in 0..steps {
            let next: Vec<usize> = last
                .iter()
                .filter_map(|at| self.node(*at))
                .filter(|node| !node.insn.op.is_return())
                .flat_map(|node| node.next)
                .filter(|next| !found.contains(next))
                .collect();
            last.clear();
            for next in next {
                if !found.contains(&next) {
                    found.push(next);
                    last.push(next);
                }
            }
        }
        found.sort_unstable();
        found
    }

    /// The graph with one edge that leads to another node.
    pub(super) fn with_edge(&self, edge: Edge, to: usize) -> Graph {
        let mut graph = self.clone();
        match edge {
            Edge::Entry => graph.entry = to,
            Edge::From(from, side) => {
                if let Some(node) = graph.nodes.get_mut(from) {
                    match node.insn.op.is_branch() {
                        true => node.next.iter_mut().skip(side).take(1).for_each(|next| *next = to),
                        false => node.next = [to; 2],
                    }
                }
            }
        }
        graph
    }

    /// The graph in which all edges to a node lead to another one.
    pub(super) fn without(&self, index: usize, to: usize) -> Graph {
        self.redirected(|next| if next == index { to } else { next })
    }

    fn redirected(&self, to: impl Fn(usize) -> usize) -> Graph {
        let nodes = self.nodes.iter().enumerate().map(|(index, node)| match node.insn.op {
            op if op.is_return() => Node { next: [index; 2], ..*node },
            _ => Node { next: node.next.map(&to), ..*node },
        });
        Graph { nodes: nodes.collect(), entry: to(self.entry) }
    }

    /// The graph with one node for all that do the same, without branches whose successors are the same.
    pub(super) fn merged(&self) -> Graph {
        let mut same: HashMap<Node, usize> = HashMap::new();
        let mut other: Vec<usize> = (0..self.nodes.len()).collect();
        for (index, node) in self.nodes.iter().enumerate().rev() {
            let of = |next: usize| other.get(next).copied().unwrap_or(next);
            let found = if node.insn.op.is_return() {
                *same.entry(Node { next: [0; 2], ..*node }).or_insert(index)
            } else {
                let next = node.next.map(of);
                match next {
                    [first, second] if node.insn.op.is_branch() && first == second => first,
                    _ => *same.entry(Node { next, ..*node }).or_insert(index),
                }
            };
            if let Some(slot) = other.get_mut(index) {
                *slot = found;
            }
        }
        self.redirected(|next| other.get(next).copied().unwrap_or(next))
    }

    /// The instructions; `None` if a branch leads too far.
    pub(super) fn insns(&self) -> Option<Vec<Insn>> {
        let order = self.reachable();
        let mut places = vec![0; self.nodes.len()];
        let mut place = 0;
        let jumps = |at: usize, node: &Node| {
            let falls = order.get(at + 1) == Some(&node.next[0]);
            !node.insn.op.is_branch() && !node.insn.op.is_return() && !falls
        };
        for (at, index) in order.iter().enumerate() {
            *places.get_mut(*index)? = place;
            place += 1 + usize::from(jumps(at, self.nodes.get(*index)?));
        }
        let mut insns = Vec::with_capacity(place);
        for (at, index) in order.iter().enumerate() {
            let node = self.nodes.get(*index)?;
            // From the instruction after this one.
            let distance = |next: usize, here: usize| places.get(next)?.checked_sub(here + 1);
            let mut insn = node.insn;
            if insn.op.is_branch() {
                let [taken, otherwise] = node.next;
                insn.jt = u8::try_from(distance(taken, insns.len())?).ok()?;
                insn.jf = u8::try_from(distance(otherwise, insns.len())?).ok()?;
            }
            insns.push(insn);
            if jumps(at, node) {
                let [next, _] = node.next;
                let target = self.nodes.get(next)?.insn;
                insns.push(match target.op.is_return() {
                    true => target,
                    false => Insn::new(Op::Ja, u32::try_from(distance(next, insns.len())?).ok()?),
                });
            }
        }
        Some(insns)
    }
}

/// An instruction without distances and unused fields.
fn plain(insn: Insn) -> Insn {
    let k = if insn.op.uses_k() { insn.k } else { 0 };
    Insn { jt: 0, jf: 0, k, ..insn }
}
