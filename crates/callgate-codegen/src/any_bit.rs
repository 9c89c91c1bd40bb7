//! The test whether A shares a bit with a mask.
//!
//! This is one instruction, `jset`. Without `jset`, `and` clears the bits between those of the mask, and those above
//! it; then the value is at least the lowest bit of the mask exactly if it contains a bit of the mask. The bits below
//! the mask remain in A. If A holds no other bits from the lowest one on, `jge` suffices.

use super::Instructions;
use super::code::{CodeId, Graph, Held};
use callgate_core::{Op, Word};

/// The instructions of a test.
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
    use super::super::code::Code;
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
