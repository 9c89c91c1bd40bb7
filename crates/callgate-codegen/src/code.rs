//! The code graph: the intermediate representation between lowering and layout.
//!
//! Invariants: it is hash-consed, so equal code with the same value in A exists once; it is acyclic, and a node has a
//! larger index than its successors.

use callgate_core::template::{Half, Symbol};
use callgate_core::{Op, SeccompData, Verdict, Word};
use rustc_hash::FxHashMap as HashMap;

use super::Instructions;

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
    /// `tax`, where A holds a word.
    Tax { word: Word, next: CodeId },
    /// A conditional jump on X, where A and X hold these words. The operation is that on a constant.
    CompareWords { words: [Word; 2], op: Op, then: CodeId, otherwise: CodeId },
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
            | Code::CompareWords { then, otherwise, .. }
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
        self.insns_since(0, from)
    }

    /// As [`Graph::insns`], without those of the first nodes that were added, this many.
    pub(super) fn insns_since(&self, start: usize, from: CodeId) -> usize {
        let mut reached = vec![false; (from.0 as usize + 1).saturating_sub(start)];
        if let Some(last) = reached.last_mut() {
            *last = true;
        }
        let mut insns = 0;
        // Successors have smaller indexes.
        for at in (0..reached.len()).rev() {
            if !reached[at] {
                continue;
            }
            let code = self.get(CodeId((start + at) as u32));
            for next in code.successors().filter_map(|next| (next.0 as usize).checked_sub(start)) {
                reached[next] = true;
            }
            insns += code.insns();
        }
        insns
    }

    /// The number of instructions from a node on that are not yet in `others`.
    pub(super) fn insns_beside(&self, from: CodeId, others: &mut Reached) -> usize {
        let (start, mut insns) = (others.added.len(), 0);
        others.add(from);
        let mut next = start;
        while let Some(id) = others.added.get(next).copied() {
            let code = self.get(id);
            insns += code.insns();
            code.successors().for_each(|next| others.add(next));
            next += 1;
        }
        insns
    }

    /// The number of instructions that a syscall executes from a node on, which loads what it tests. Comparisons with variables are
    /// not followed.
    pub(super) fn executed(&self, from: CodeId, data: &SeccompData) -> usize {
        let (mut at, mut a, mut x, mut executed) = (from, 0, 0, 0);
        loop {
            let code = self.get(at);
            executed += code.insns();
            let (result, [then, otherwise]) = match code {
                Code::Return(_) | Code::Compare { .. } => return executed,
                Code::Load { word, next } => {
                    a = data.word(word);
                    (true, [next; 2])
                }
                Code::And { mask, next, .. } => {
                    a &= mask;
                    (true, [next; 2])
                }
                Code::Tax { next, .. } => {
                    x = a;
                    (true, [next; 2])
                }
                Code::Branch { op, k, then, otherwise, .. } => (jumps(op, a, k), [then, otherwise]),
                Code::CompareWords { op, then, otherwise, .. } => {
                    (jumps(op, a, x), [then, otherwise])
                }
                Code::Bitset { base, bits, then, otherwise, .. } => {
                    (bits >> (a.wrapping_sub(base) % 32) & 1 == 1, [then, otherwise])
                }
            };
            at = if result { then } else { otherwise };
        }
    }
}

/// Whether a conditional jump of a code graph is taken.
fn jumps(op: Op, a: u32, other: u32) -> bool {
    match op {
        Op::JeqK => a == other,
        Op::JgeK => a >= other,
        Op::JgtK => a > other,
        _ => a & other != 0,
    }
}

/// Nodes of a graph that are reached from some others.
#[derive(Debug, Default)]
pub(super) struct Reached {
    is_reached: Vec<bool>,
    /// In the order in which they were added.
    added: Vec<CodeId>,
}

impl Reached {
    fn add(&mut self, id: CodeId) {
        let at = id.0 as usize;
        if at >= self.is_reached.len() {
            self.is_reached.resize(at + 1, false);
        }
        if !std::mem::replace(&mut self.is_reached[at], true) {
            self.added.push(id);
        }
    }

    /// The number of nodes.
    pub(super) fn len(&self) -> usize {
        self.added.len()
    }

    /// Only the first nodes, this many.
    pub(super) fn truncate(&mut self, len: usize) {
        for id in self.added.drain(len..) {
            self.is_reached[id.0 as usize] = false;
        }
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
            Code::Load { next, .. } | Code::And { next, .. } | Code::Tax { next, .. } => {
                [Some(next), None]
            }
            Code::Branch { then, otherwise, .. }
            | Code::Compare { then, otherwise, .. }
            | Code::CompareWords { then, otherwise, .. }
            | Code::Bitset { then, otherwise, .. } => [Some(then), Some(otherwise)],
        };
        pair.into_iter().flatten()
    }
}

/// The test whether A shares a bit with a mask.
///
/// This is one instruction, `jset`. Without `jset`, `and` clears the bits between those of the mask, and those above
/// it; then the value is at least the lowest bit of the mask exactly if it contains a bit of the mask. The bits below
/// the mask remain in A. If A holds no other bits from the lowest one on, `jge` suffices.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct AnyBit {
    held: u32,
    mask: u32,
    kept: u32,
    jset: bool,
}

impl AnyBit {
    /// The test of a mask, where A holds the bits `held`. Other bits of the mask are clear in A.
    pub(super) fn new(instructions: Instructions, held: u32, mask: u32) -> AnyBit {
        let jset = instructions.allows_jset();
        // For `jset`, these bits make no difference; for `and`, they would when the word is loaded again.
        let mask = if jset { mask } else { mask & held };
        let kept = if jset { held } else { held & (mask | below(mask)) };
        AnyBit { held, mask, kept, jset }
    }

    /// The same test, after which A is not needed: the mask of `and` is that of the test.
    pub(super) fn forgetting(self) -> AnyBit {
        if self.keeps_a() { self } else { AnyBit { kept: self.mask, ..self } }
    }

    /// The number of instructions; all of them are executed.
    pub(super) fn insns(self) -> u32 {
        if self.keeps_a() { 1 } else { 2 }
    }

    /// The maximum number of instructions of a test.
    pub(super) fn max_insns(instructions: Instructions) -> u32 {
        if instructions.allows_jset() { 1 } else { 2 }
    }

    /// Whether A is unchanged afterwards.
    pub(super) fn keeps_a(self) -> bool {
        self.kept == self.held
    }

    /// The bits that A holds afterwards, if it shares a bit with the mask.
    pub(super) fn kept_if_set(self) -> u32 {
        self.kept
    }

    /// The bits that A holds afterwards, if it shares no bit with the mask. These bits are clear then, so a part of a
    /// word is also the part without them, which has fewer values.
    pub(super) fn kept_if_clear(self) -> u32 {
        if self.jset || self.kept == u32::MAX { self.kept } else { self.kept & !self.mask }
    }

    /// Adds the test to a graph.
    pub(super) fn add(self, graph: &mut Graph, word: Word, set: CodeId, clear: CodeId) -> CodeId {
        let held = Held { word, mask: self.kept };
        if self.jset {
            return graph.branch(held, Op::JsetK, self.mask, set, clear);
        }
        let (op, k, then, otherwise) = if self.kept == self.mask {
            (Op::JeqK, 0, clear, set)
        } else {
            (Op::JgeK, self.mask & self.mask.wrapping_neg(), set, clear)
        };
        let next = graph.branch(held, op, k, then, otherwise);
        if self.keeps_a() {
            return next;
        }
        graph.and(Held { word, mask: self.held }, self.kept, next)
    }
}

/// All bits below the lowest bit of a mask.
fn below(mask: u32) -> u32 {
    match mask {
        0 => 0,
        _ => (mask & mask.wrapping_neg()) - 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_core::Verdict;

    /// All masks of all parts of a word of five bits, and all values: the test finds whether they share a bit, and
    /// leaves the bits that it promises.
    #[test]
    fn a_test_finds_whether_a_bit_is_shared() {
        let word = Word::arg_low(0).unwrap();
        let (mut and, mut single) = (0, 0);
        for held in 1..32_u32 {
            for mask in (1..=held).filter(|mask| mask & !held == 0) {
                for instructions in Instructions::ALL.iter().copied() {
                    let tests = [false, true].map(|forgets| {
                        let test = AnyBit::new(instructions, held, mask);
                        if forgets { test.forgetting() } else { test }
                    });
                    for test in tests {
                        let mut graph = Graph::default();
                        let set = graph.ret(Verdict::ALLOW);
                        let clear = graph.ret(Verdict::LOG);
                        let entry = test.add(&mut graph, word, set, clear);
                        for value in 0..32 {
                            let (mut a, mut at, mut insns) = (value & held, entry, 0);
                            let found = loop {
                                at = match graph.get(at) {
                                    Code::Return(_) => break at,
                                    Code::And { mask, next, .. } => {
                                        a &= mask;
                                        next
                                    }
                                    Code::Branch { op, k, then, otherwise, .. } => {
                                        assert!(instructions.allows(op));
                                        let holds = match op {
                                            Op::JsetK => a & k != 0,
                                            Op::JgeK => a >= k,
                                            _ => a == k,
                                        };
                                        if holds { then } else { otherwise }
                                    }
                                    code => panic!("{code:?}"),
                                };
                                insns += 1;
                            };
                            let shares = value & mask != 0;
                            assert_eq!(
                                found,
                                if shares { set } else { clear },
                                "{held} {mask} {value}"
                            );
                            let kept =
                                if shares { test.kept_if_set() } else { test.kept_if_clear() };
                            assert_eq!(a, value & kept, "{held} {mask} {value}");
                            assert_eq!(insns, test.insns());
                            assert!(insns <= AnyBit::max_insns(instructions));
                            assert_eq!(test.keeps_a(), insns == 1);
                        }
                        match test.insns() {
                            1 if instructions == Instructions::Basic => single += 1,
                            2 => and += 1,
                            _ => {}
                        }
                    }
                }
            }
        }
        assert!(and > 100 && single > 50, "{and} {single}");
    }
}
