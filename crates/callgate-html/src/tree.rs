//! The branches of a program as a tree, for a picture: shared code occurs once, and elsewhere as a reference.

use std::collections::{HashMap, VecDeque};

use callgate::compile::Execution;
use callgate::{Arch, Endian, Verdict};
use callgate_bpf::SyscallTable;
use callgate_bpf::constants::Family;
use callgate_bpf::syscalls::facts;
use callgate_core::cfg::Successors;
use callgate_core::{Insn, LongProgram, Op, Word};

/// Facts about a path through a program.
#[derive(Clone, Copy, Debug)]
struct Path {
    endian: Endian,
    /// The architecture that numbers mean without a test.
    assumed: Option<Arch>,
    /// The word in A, and the bits of it that are kept.
    a: Option<(Word, u32)>,
    x: Option<(Word, u32)>,
    token: Option<u32>,
    /// The smallest and the largest number that the path permits.
    nr: (u32, u32),
}

impl Path {
    fn start(endian: Endian, assumed: Option<Arch>) -> Path {
        Path { endian, assumed, a: None, x: None, token: None, nr: (0, u32::MAX) }
    }

    /// After an instruction that is not a branch.
    fn after(mut self, insn: Insn) -> Path {
        match insn.op {
            Op::LdWordAbs => {
                self.a = Word::from_offset(insn.k, self.endian).map(|word| (word, u32::MAX));
            }
            Op::AndK => self.a = self.a.map(|(word, mask)| (word, mask & insn.k)),
            Op::Tax => self.x = self.a,
            Op::Txa => self.a = self.x,
            op if op.is_return() || op == Op::Ja => {}
            _ => {
                if insn.writes().intersects(callgate_core::cfg::Registers::A) {
                    self.a = None;
                }
                if insn.writes().intersects(callgate_core::cfg::Registers::X) {
                    self.x = None;
                }
            }
        }
        self
    }

    /// After a branch.
    fn after_branch(mut self, insn: Insn, holds: bool) -> Path {
        let (k, (first, last)) = (insn.k, self.nr);
        match (self.a, insn.op, holds) {
            (Some((Word::ARCH, u32::MAX)), Op::JeqK, true) => self.token = Some(k),
            (Some((Word::NR, u32::MAX)), op, holds) => {
                self.nr = match (op, holds) {
                    (Op::JeqK, true) => (k, k),
                    (Op::JeqK, false) if k == first => (first.saturating_add(1), last),
                    (Op::JeqK, false) if k == last => (first, last.saturating_sub(1)),
                    (Op::JgeK, true) => (first.max(k), last),
                    (Op::JgeK, false) => (first, last.min(k.saturating_sub(1))),
                    (Op::JgtK, true) => (first.max(k.saturating_add(1)), last),
                    (Op::JgtK, false) => (first, last.min(k)),
                    _ => self.nr,
                };
            }
            _ => {}
        }
        self
    }

    fn arches(&self) -> Vec<Arch> {
        match self.token {
            Some(token) => Arch::with_token(token).collect(),
            None => self.assumed.into_iter().collect(),
        }
    }

    /// The only syscall that the path permits.
    fn only_syscall(&self) -> Option<(Arch, &'static str)> {
        let (first, last) = self.nr;
        if first == last { self.syscall(first) } else { None }
    }

    /// The syscall with a number, on this path.
    fn syscall(&self, nr: u32) -> Option<(Arch, &'static str)> {
        self.arches().into_iter().find_map(|arch| Some((arch, arch.syscall_name(nr)?)))
    }

    /// The question of a branch.
    fn question(&self, insn: Insn) -> String {
        let relation = match insn.op {
            Op::JeqK => "=",
            Op::JgeK => "≥",
            Op::JgtK => ">",
            Op::JsetK => "≠",
            _ => return insn.to_string(),
        };
        let Some((word, mask)) = self.a else { return insn.to_string() };
        let name = self.word(word);
        let value = self.value(word, mask, insn);
        match (insn.op, mask) {
            (Op::JsetK, _) => format!("{name} & {value} {relation} 0"),
            (_, u32::MAX) => format!("{name} {relation} {value}"),
            (_, mask) => format!("{name} & {mask:#x} {relation} {value}"),
        }
    }

    /// The name of a word: that of the argument, if the syscall is known.
    fn word(&self, word: Word) -> String {
        if word == Word::ARCH {
            return "arch".to_owned();
        }
        if word == Word::NR {
            return "nr".to_owned();
        }
        let Some((index, is_high)) = word.argument() else { return "ip".to_owned() };
        let facts = self.only_syscall().and_then(|(_, name)| facts(name));
        let named = facts.and_then(|facts| facts.args.get(usize::from(index)));
        let name = named.map_or(format!("args[{index}]"), |arg| arg.name.to_owned());
        if is_high { format!("{name}.high") } else { name }
    }

    /// The constant of a branch.
    fn value(&self, word: Word, mask: u32, insn: Insn) -> String {
        let k = insn.k;
        let number = if k < 4096 { k.to_string() } else { format!("{k:#x}") };
        match word {
            Word::ARCH => {
                let names: Vec<&str> = Arch::with_token(k).map(Arch::name).collect();
                names.first().map_or(number, |name| (*name).to_owned())
            }
            Word::NR if insn.op != Op::JsetK => match self.syscall(k) {
                Some((_, name)) => format!("{number} {name}"),
                None => number,
            },
            _ => self.constant(word, mask, insn).unwrap_or(number),
        }
    }

    /// The name of the constant that an argument is compared with.
    fn constant(&self, word: Word, mask: u32, insn: Insn) -> Option<String> {
        let (index, is_high) = word.argument()?;
        let (arch, syscall) = self.only_syscall()?;
        let family = Family::of(arch, syscall, index).filter(|_| !is_high)?;
        match (insn.op, mask) {
            (Op::JeqK, u32::MAX) => family.name(arch, insn.k.into()),
            (Op::JeqK, mask) => family.name_masked(arch, mask.into(), insn.k.into()),
            (Op::JsetK, _) => family.name_mask(arch, insn.k.into()),
            _ => None,
        }
    }
}

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

/// The instructions of the path that follows the more frequent side of each branch.
pub(crate) fn hot_path(program: &LongProgram, weighted: &Execution) -> Vec<usize> {
    let mut path = Vec::new();
    let mut next = Some(0);
    while let Some((at, insn)) = next.and_then(|at| Some((at, *program.insns().get(at)?))) {
        path.push(at);
        next = match insn.successors(at) {
            Successors::Return => None,
            Successors::Next(next) | Successors::Jump(next) => Some(next),
            Successors::Branch { taken, otherwise } => {
                let share = weighted.insns.get(at).copied().unwrap_or_default();
                Some(if share.taken * 2.0 > share.executed { taken } else { otherwise })
            }
        };
    }
    path
}

/// Places in columns and rows.
#[derive(Debug)]
pub(crate) struct Placed {
    /// Per node, its row. Its column is the number of questions before it whose answer is yes.
    pub(crate) rows: Vec<usize>,
    /// The number of rows and columns.
    pub(crate) size: (usize, usize),
}

/// Places the nodes.
pub(crate) fn place(tree: &Tree) -> Placed {
    let mut rows = vec![0; tree.nodes.len()];
    let (mut used, mut columns) = (0, 0);
    let mut pending = vec![0];
    while let Some(at) = pending.pop() {
        let (Some(node), Some(row)) = (tree.nodes.get(at), rows.get_mut(at)) else { continue };
        *row = used;
        columns = columns.max(node.column + 1);
        match node.end {
            End::Branch { yes, no, .. } => pending.extend([no, yes]),
            End::Return(_) | End::Shared(_) | End::LeftOut => used += 1,
        }
    }
    Placed { rows, size: (used, columns) }
}
