//! The code graph: the intermediate representation between lowering and layout.
//!
//! Invariants: it is hash-consed, so equal code with the same value in A exists once; it is acyclic, and a node has a
//! larger index than its successors.

use rustc_hash::FxHashMap as HashMap;

use callgate_core::template::{Half, Symbol};
use callgate_core::{Op, Verdict, Word};

/// A node of the code graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct CodeId(pub(super) u32);

/// The contents of A: some bits of a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Held {
    pub(super) word: Word,
    pub(super) mask: u32,
}

impl Held {
    /// A whole word.
    pub(super) const fn whole(word: Word) -> Held {
        Held { word, mask: u32::MAX }
    }
}

/// An instruction, or a bitset test, with its successors.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Code {
    /// `ret #verdict`.
    Return(Verdict),
    /// `ld` of a word.
    Load { word: Word, next: CodeId },
    /// `and #mask`, where A holds `held`.
    And { held: Held, mask: u32, next: CodeId },
    /// A conditional jump on a constant (`jeq`, `jge`, `jset`), where A holds `held`.
    Branch { held: Held, op: Op, k: u32, then: CodeId, otherwise: CodeId },
    /// A conditional jump on half of a value that depends on a variable, where A holds `held`.
    Compare { held: Held, op: Op, symbol: Symbol, half: Half, then: CodeId, otherwise: CodeId },
    /// A bitset test: a jump on bit `A - base` of `bits`, where A holds `held` and is in `base..base + 32`.
    Bitset { held: Held, base: u32, bits: u32, then: CodeId, otherwise: CodeId },
}

/// The code graph of a program.
#[derive(Debug, Default)]
pub(super) struct Graph {
    codes: Vec<Code>,
    index: HashMap<Code, CodeId>,
}

impl Graph {
    /// A graph that has room for this number of nodes.
    pub(super) fn with_capacity(nodes: usize) -> Graph {
        let index = HashMap::with_capacity_and_hasher(nodes, Default::default());
        Graph { codes: Vec::with_capacity(nodes), index }
    }

    /// The node of this code; a branch with equal successors is that successor.
    pub(super) fn add(&mut self, code: Code) -> CodeId {
        match code {
            Code::Branch { then, otherwise, .. }
            | Code::Compare { then, otherwise, .. }
            | Code::Bitset { then, otherwise, .. }
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

    pub(super) fn ret(&mut self, verdict: Verdict) -> CodeId {
        self.add(Code::Return(verdict))
    }

    pub(super) fn load(&mut self, word: Word, next: CodeId) -> CodeId {
        self.add(Code::Load { word, next })
    }

    /// `and #mask`, where A holds `held`.
    pub(super) fn and(&mut self, held: Held, mask: u32, next: CodeId) -> CodeId {
        self.add(Code::And { held, mask, next })
    }

    /// A conditional jump on a constant, where A holds `held`.
    pub(super) fn branch(
        &mut self,
        held: Held,
        op: Op,
        k: u32,
        then: CodeId,
        otherwise: CodeId,
    ) -> CodeId {
        self.add(Code::Branch { held, op, k, then, otherwise })
    }

    pub(super) fn get(&self, id: CodeId) -> Code {
        self.codes[id.0 as usize]
    }

    pub(super) fn len(&self) -> usize {
        self.codes.len()
    }

    /// The number of instructions from a node on, without those that only the layout adds.
    pub(super) fn insns(&self, from: CodeId) -> usize {
        let mut reached = vec![false; from.0 as usize + 1];
        reached[from.0 as usize] = true;
        let mut insns = 0;
        // Successors have smaller indexes.
        for id in (0..=from.0).rev() {
            if !reached[id as usize] {
                continue;
            }
            let code = self.get(CodeId(id));
            for next in code.successors() {
                reached[next.0 as usize] = true;
            }
            insns += code.insns();
        }
        insns
    }
}

impl Code {
    /// The number of instructions.
    fn insns(&self) -> usize {
        match self {
            // `sub`, `tax`, `ld #bits`, `rsh x` and `jset #1`.
            Code::Bitset { base: 0, .. } => 4,
            Code::Bitset { .. } => 5,
            _ => 1,
        }
    }

    /// The successors; for a conditional jump, the taken edge first.
    pub(super) fn successors(&self) -> impl Iterator<Item = CodeId> + use<> {
        let pair = match *self {
            Code::Return(_) => [None, None],
            Code::Load { next, .. } | Code::And { next, .. } => [Some(next), None],
            Code::Branch { then, otherwise, .. }
            | Code::Compare { then, otherwise, .. }
            | Code::Bitset { then, otherwise, .. } => [Some(then), Some(otherwise)],
        };
        pair.into_iter().flatten()
    }
}
