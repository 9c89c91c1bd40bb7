//! A tree of the branches of a program: shared code occurs once, and elsewhere as a reference.

use std::collections::{HashMap, VecDeque};

use callgate::compile::Execution;
use callgate::{Arch, Endian, Verdict};
use callgate_core::cfg::Successors;
use callgate_core::{LongProgram, Op};

use super::label::Path;

/// The maximum number of nodes and columns.
const MAX_NODES: usize = 1200;
const MAX_COLUMNS: usize = 40;

/// A tree, in an arena; the first node is the root.
#[derive(Debug)]
pub(crate) struct Tree {
    pub(crate) nodes: Vec<Node>,
    /// The instructions that are in no node.
    pub(crate) left_out: usize,
}

/// A node.
#[derive(Debug)]
pub(crate) struct Node {
    /// The index of its last instruction.
    pub(crate) at: usize,
    /// The share of syscalls that reach it over this edge; `None` without weights.
    pub(crate) share: Option<f64>,
    /// The number of branches before it whose condition holds.
    pub(crate) column: usize,
    pub(crate) end: End,
}

/// What a node is.
#[derive(Debug)]
pub(crate) enum End {
    /// A question, and the nodes for yes and no.
    Branch { question: String, yes: usize, no: usize },
    /// A verdict; `None` if it is computed.
    Return(Option<Verdict>),
    /// Code that is elsewhere in the tree: the index of its node.
    Shared(usize),
    /// More than the tree may have.
    LeftOut,
}

/// A node that is not built yet: its index, where its code starts, and the facts there.
struct Pending {
    node: usize,
    start: usize,
    path: Path,
}

impl Tree {
    /// The tree of a program. Nodes near the root are preferred.
    pub(crate) fn new(
        program: &LongProgram,
        endian: Endian,
        assumed: Option<Arch>,
        weighted: Option<&Execution>,
    ) -> Tree {
        let mut nodes =
            vec![Node { at: 0, share: weighted.map(|_| 1.0), column: 0, end: End::LeftOut }];
        let mut built: HashMap<usize, usize> = HashMap::new();
        let mut seen = vec![false; program.len()];
        let path = Path::start(endian, assumed);
        let mut pending = VecDeque::from([Pending { node: 0, start: 0, path }]);
        while let Some(Pending { node, start, path }) = pending.pop_front() {
            let (at, path) = run(program, start, path, &mut seen);
            let column = nodes.get(node).map_or(0, |node| node.column);
            let insn = program.insns().get(at).copied();
            let branch = insn.map(|insn| (insn, insn.successors(at)));
            let end = match branch {
                Some((insn, Successors::Branch { taken, otherwise })) => {
                    if let Some(other) = built.get(&at) {
                        End::Shared(*other)
                    } else if nodes.len() + 2 > MAX_NODES || column + 1 >= MAX_COLUMNS {
                        if let Some(seen) = seen.get_mut(at) {
                            *seen = false;
                        }
                        End::LeftOut
                    } else {
                        built.insert(at, node);
                        let yes = nodes.len();
                        for (start, holds) in [(taken, true), (otherwise, false)] {
                            let share = share(weighted, at, holds, nodes.get(node));
                            let child = nodes.len();
                            nodes.push(Node {
                                at: start,
                                share,
                                column: column + usize::from(holds),
                                end: End::LeftOut,
                            });
                            let path = path.after_branch(insn, holds);
                            pending.push_back(Pending { node: child, start, path });
                        }
                        End::Branch { question: path.question(insn), yes, no: yes + 1 }
                    }
                }
                Some((insn, _)) if insn.op == Op::RetK => End::Return(Some(Verdict(insn.k))),
                _ => End::Return(None),
            };
            if let Some(node) = nodes.get_mut(node) {
                (node.at, node.end) = (at, end);
            }
        }
        let left_out = seen.iter().filter(|seen| !**seen).count();
        Tree { nodes, left_out }
    }
}

impl Tree {
    /// The nodes of the path that follows the more frequent side of each branch; none without weights.
    pub(crate) fn hot_nodes(&self) -> Vec<usize> {
        let share = |at: usize| self.nodes.get(at).and_then(|node| node.share).unwrap_or(0.0);
        let mut path: Vec<usize> = Vec::new();
        let mut next = Some(0);
        while let Some((at, node)) = next.and_then(|at| Some((at, self.nodes.get(at)?))) {
            if node.share.is_none() {
                break;
            }
            path.push(at);
            next = match node.end {
                End::Branch { yes, no, .. } => Some(if share(yes) > share(no) { yes } else { no }),
                End::Shared(other) => Some(other),
                End::Return(_) | End::LeftOut => None,
            };
        }
        path
    }
}

/// The share of a side of a branch, as much as reaches it over this edge.
fn share(weighted: Option<&Execution>, at: usize, holds: bool, node: Option<&Node>) -> Option<f64> {
    let insn = weighted?.insns.get(at)?;
    let arrives = node?.share?;
    let side = if holds { insn.taken } else { insn.executed - insn.taken };
    // Shared code is drawn once; of the syscalls that reach it, the edge above has only a part.
    Some(if insn.executed > 0.0 { (side / insn.executed).max(0.0) * arrives } else { 0.0 })
}

/// The next branch or return from an instruction on, with the facts there.
fn run(program: &LongProgram, start: usize, mut path: Path, seen: &mut [bool]) -> (usize, Path) {
    let mut at = start;
    while let Some(insn) = program.insns().get(at) {
        if let Some(seen) = seen.get_mut(at) {
            *seen = true;
        }
        match insn.successors(at) {
            Successors::Next(next) | Successors::Jump(next) => {
                path = path.after(*insn);
                at = next;
            }
            Successors::Return | Successors::Branch { .. } => break,
        }
    }
    (at, path)
}
