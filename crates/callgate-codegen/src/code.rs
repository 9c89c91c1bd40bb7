//! The code graph: what a program does, before it is laid out.
//!
//! Invariants: hash-consed, so equal pieces that find the same value in A are one; acyclic, and a
//! piece has a larger index than those it leads to.

use rustc_hash::FxHashMap as HashMap;

use callgate_bpf::Op;
use callgate_bpf::data::Word;
use callgate_bpf::verdict::Verdict;

/// A piece of code and everything after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct CodeId(pub(super) u32);

/// What A holds: some bits of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Held {
    pub(super) word: Word,
    pub(super) mask: u32,
}

/// One instruction, or the few of a window, with the code that follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Code {
    Return(Verdict),
    Load {
        word: Word,
        next: CodeId,
    },
    /// `and #mask`, in a place where A holds `held`.
    And {
        held: Held,
        mask: u32,
        next: CodeId,
    },
    /// A conditional jump on a constant (`jeq`, `jge`, `jset`), in a place where A holds `held`.
    Branch {
        held: Held,
        op: Op,
        k: u32,
        then: CodeId,
        otherwise: CodeId,
    },
    /// A jump on bit `A - base` of `bits`, in a place where A holds `held` and is one of
    /// `base..base + 32`.
    Window {
        held: Held,
        base: u32,
        bits: u32,
        then: CodeId,
        otherwise: CodeId,
    },
}

/// All code of a program.
#[derive(Debug, Default)]
pub(super) struct Graph {
    codes: Vec<Code>,
    index: HashMap<Code, CodeId>,
}

impl Graph {
    /// The piece of code that does this; a branch whose sides are the same is that side.
    pub(super) fn add(&mut self, code: Code) -> CodeId {
        match code {
            Code::Branch { then, otherwise, .. } | Code::Window { then, otherwise, .. }
                if then == otherwise =>
            {
                return then;
            }
            _ => {}
        }
        let next = CodeId(self.codes.len() as u32);
        let id = *self.index.entry(code).or_insert(next);
        if id == next {
            self.codes.push(code);
        }
        id
    }

    pub(super) fn get(&self, id: CodeId) -> Code {
        self.codes[id.0 as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.codes.len()
    }
}

impl Code {
    /// Where it leads: the first is the one that a conditional jump takes when its condition holds.
    pub(super) fn successors(&self) -> impl Iterator<Item = CodeId> + use<> {
        let pair = match *self {
            Code::Return(_) => [None, None],
            Code::Load { next, .. } | Code::And { next, .. } => [Some(next), None],
            Code::Branch { then, otherwise, .. } | Code::Window { then, otherwise, .. } => {
                [Some(then), Some(otherwise)]
            }
        };
        pair.into_iter().flatten()
    }
}
