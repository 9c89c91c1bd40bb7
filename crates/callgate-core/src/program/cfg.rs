//! Control flow and data flow of programs: successors, uses and definitions, liveness, and forward
//! analyses.
//!
//! Classic BPF only jumps forward, so one pass over a program is exact: a forward analysis visits an
//! instruction after all its predecessors, liveness analysis after all its successors.

use crate::program::ancillary::SKF_AD_OFF;
use crate::program::insn::Insn;
use crate::program::limits::SCRATCH_WORDS;
use crate::program::op::Op;

/// A set of A, X and scratch words.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Registers(u32);

impl Registers {
    /// The empty set.
    pub const NONE: Registers = Registers(0);
    /// The accumulator.
    pub const A: Registers = Registers(1 << 16);
    /// The index register.
    pub const X: Registers = Registers(1 << 17);
    /// Everything.
    pub const ALL: Registers = Registers((1 << 18) - 1);

    /// A scratch word, 0 to 15; empty for other indices.
    #[inline]
    pub const fn scratch(k: u32) -> Registers {
        if k < SCRATCH_WORDS as u32 { Registers(1 << k) } else { Registers::NONE }
    }

    /// The union.
    #[must_use]
    #[inline]
    pub const fn union(self, other: Registers) -> Registers {
        Registers(self.0 | other.0)
    }

    /// The intersection.
    #[must_use]
    #[inline]
    pub const fn intersection(self, other: Registers) -> Registers {
        Registers(self.0 & other.0)
    }

    /// The difference.
    #[must_use]
    #[inline]
    pub const fn without(self, other: Registers) -> Registers {
        Registers(self.0 & !other.0)
    }

    /// Whether the two sets have a common element.
    #[inline]
    pub const fn intersects(self, other: Registers) -> bool {
        self.0 & other.0 != 0
    }

    /// Whether the set is empty.
    #[inline]
    pub const fn is_empty(self) -> bool {
        self.0 == 0
    }
}

/// The successors of an instruction. In programs that the kernel refuses, indices may be past the end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Successors {
    /// None: the program ends.
    Return,
    /// The next instruction.
    Next(usize),
    /// The target of an unconditional jump.
    Jump(usize),
    /// A branch.
    Branch {
        /// The target if the condition holds.
        taken: usize,
        /// The target otherwise.
        otherwise: usize,
    },
}

impl IntoIterator for Successors {
    type Item = usize;
    type IntoIter = std::iter::Flatten<std::array::IntoIter<Option<usize>, 2>>;

    fn into_iter(self) -> Self::IntoIter {
        let both = match self {
            Successors::Return => [None, None],
            Successors::Next(next) | Successors::Jump(next) => [Some(next), None],
            Successors::Branch { taken, otherwise } => [Some(taken), Some(otherwise)],
        };
        both.into_iter().flatten()
    }
}

impl Insn {
    /// The successors of this instruction at `index`.
    #[inline]
    pub fn successors(self, index: usize) -> Successors {
        let next = index.saturating_add(1);
        if self.op.is_branch() {
            return Successors::Branch {
                taken: next.saturating_add(usize::from(self.jt)),
                otherwise: next.saturating_add(usize::from(self.jf)),
            };
        }
        match self.op {
            op if op.is_return() => Successors::Return,
            Op::Ja => Successors::Jump(next.saturating_add(self.k as usize)),
            _ => Successors::Next(next),
        }
    }

    /// The registers and scratch words that the instruction reads.
    #[inline]
    pub const fn reads(self) -> Registers {
        use Op::*;
        use Registers as R;
        match self.op {
            // Some ancillary words depend on A and X.
            LdWordAbs | LdHalfAbs | LdByteAbs if self.k >= SKF_AD_OFF => R::A.union(R::X),
            LdWordAbs | LdHalfAbs | LdByteAbs | LdLen | LdImm => R::NONE,
            LdWordInd | LdHalfInd | LdByteInd | Stx | Txa => R::X,
            LdMem | LdxMem => R::scratch(self.k),
            LdxLen | LdxImm | LdxMsh => R::NONE,
            St | Tax | RetA => R::A,
            AddK | SubK | MulK | DivK | OrK | AndK | LshK | RshK | Neg | ModK | XorK => R::A,
            AddX | SubX | MulX | DivX | OrX | AndX | LshX | RshX | ModX | XorX => R::A.union(R::X),
            Ja | RetK => R::NONE,
            JeqK | JgtK | JgeK | JsetK => R::A,
            JeqX | JgtX | JgeX | JsetX => R::A.union(R::X),
        }
    }

    /// The registers and scratch words that the instruction overwrites.
    #[inline]
    pub const fn writes(self) -> Registers {
        use Op::*;
        use Registers as R;
        match self.op {
            LdWordAbs | LdHalfAbs | LdByteAbs | LdLen | LdImm => R::A,
            LdWordInd | LdHalfInd | LdByteInd | LdMem | Txa => R::A,
            LdxLen | LdxImm | LdxMsh | LdxMem | Tax => R::X,
            St | Stx => R::scratch(self.k),
            AddK | SubK | MulK | DivK | OrK | AndK | LshK | RshK | Neg | ModK | XorK => R::A,
            AddX | SubX | MulX | DivX | OrX | AndX | LshX | RshX | ModX | XorX => R::A,
            Ja | RetK | RetA => R::NONE,
            JeqK | JgtK | JgeK | JsetK | JeqX | JgtX | JgeX | JsetX => R::NONE,
        }
    }
}

/// Per instruction, the registers and scratch words that are live before it.
pub fn liveness(insns: &[Insn]) -> Vec<Registers> {
    let mut live = vec![Registers::NONE; insns.len()];
    for (index, insn) in insns.iter().enumerate().rev() {
        let before = |index: usize| live.get(index).copied().unwrap_or(Registers::NONE);
        let after = live_after(before, index, *insn);
        if let Some(live) = live.get_mut(index) {
            *live = after.without(insn.writes()).union(insn.reads());
        }
    }
    live
}

/// What is live after an instruction, given what is live before each later one.
#[inline]
pub fn live_after(before: impl Fn(usize) -> Registers, index: usize, insn: Insn) -> Registers {
    match insn.successors(index) {
        Successors::Return => Registers::NONE,
        Successors::Next(next) | Successors::Jump(next) => before(next),
        Successors::Branch { taken, otherwise } => before(taken).union(before(otherwise)),
    }
}

/// The facts of a forward analysis before an instruction.
pub trait Facts: Clone {
    /// Keeps the facts that also hold on another path to the same instruction.
    fn join(&mut self, other: &Self);
}

/// The facts before each instruction of a program; `None` for unreachable instructions.
#[derive(Clone, Debug)]
pub struct Forward<F>(Vec<Option<F>>);

impl<F: Facts> Forward<F> {
    /// An analysis of `len` instructions with the facts `start` before the first.
    pub fn new(len: usize, start: F) -> Forward<F> {
        let mut facts = vec![None; len];
        if let Some(first) = facts.first_mut() {
            *first = Some(start);
        }
        Forward(facts)
    }

    /// Takes the facts before an instruction, of which every predecessor must have been visited.
    #[inline]
    pub fn take(&mut self, index: usize) -> Option<F> {
        self.0.get_mut(index).and_then(Option::take)
    }

    /// Joins facts into those before an instruction. Does nothing if the index is past the end.
    #[inline]
    pub fn arrive(&mut self, index: usize, facts: &F) {
        match self.0.get_mut(index) {
            Some(Some(known)) => known.join(facts),
            Some(place) => *place = Some(facts.clone()),
            None => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn successors_of_every_kind_of_instruction() {
        let ja = Insn::new(Op::Ja, 3);
        assert_eq!(ja.successors(10), Successors::Jump(14));
        let branch = Insn::branch(Op::JsetX, 0, 2, 0);
        assert_eq!(branch.successors(10), Successors::Branch { taken: 13, otherwise: 11 });
        assert_eq!(branch.successors(10).into_iter().collect::<Vec<_>>(), [13, 11]);
        assert_eq!(Insn::new(Op::RetA, 0).successors(3), Successors::Return);
        assert_eq!(Insn::new(Op::Tax, 0).successors(3), Successors::Next(4));
        assert_eq!(
            Insn::new(Op::Ja, u32::MAX).successors(usize::MAX),
            Successors::Jump(usize::MAX)
        );
    }

    #[test]
    fn register_sets_have_the_operations_of_sets() {
        let (a, x, m) = (Registers::A, Registers::X, Registers::scratch(15));
        let ax = a.union(x);
        assert_eq!((ax.intersection(x), ax.without(x), ax.union(x)), (x, a, ax));
        assert!(
            ax.intersects(x) && !ax.intersects(m) && !Registers::NONE.intersects(Registers::ALL)
        );
        assert!(Registers::NONE.is_empty() && !m.is_empty());
        assert!(Registers::scratch(16).is_empty(), "there are 16 scratch words");
    }

    /// The netlink words and the old encoding of XOR are computed from A and X.
    #[test]
    fn only_loads_of_ancillary_words_read_registers() {
        for op in [Op::LdWordAbs, Op::LdHalfAbs, Op::LdByteAbs] {
            for (k, reads) in [
                (0, Registers::NONE),
                (SKF_AD_OFF - 1, Registers::NONE),
                (SKF_AD_OFF, Registers::A.union(Registers::X)),
                (SKF_AD_OFF + 40, Registers::A.union(Registers::X)),
            ] {
                assert_eq!(Insn::new(op, k).reads(), reads, "{op:?} {k:#x}");
            }
        }
    }

    /// Executes every operation from states that differ in one register: what it writes may only depend on
    /// what it reads, and everything else is unchanged.
    #[test]
    fn reads_and_writes_agree_with_execution() {
        use crate::program::interp::registers_after;
        for op in Op::ALL.iter().copied().filter(|op| !op.is_return()) {
            let insn = Insn { op, jt: 0, jf: 0, k: 3 };
            let base = [7u32; 18];
            let after = registers_after(insn, base);
            for register in 0..18 {
                let bit = Registers(1 << register);
                let mut changed = base;
                changed[register] = 11;
                let other = registers_after(insn, changed);
                let (Some(after), Some(other)) = (after, other) else { continue };
                for written in 0..18 {
                    let differs = after[written] != other[written];
                    let is_written = insn.writes().intersects(Registers(1 << written));
                    let passes = written == register && !is_written;
                    let allowed = passes || is_written && insn.reads().intersects(bit);
                    assert!(!differs || allowed, "{op:?}: {written} depends on {register}");
                    let changes = after[written] != base[written];
                    assert!(!changes || is_written, "{op:?} changes {written}");
                }
            }
        }
    }

    #[test]
    fn liveness_joins_both_edges_of_a_branch() {
        let insns = [
            Insn::new(Op::LdImm, 1),
            Insn::new(Op::St, 4),
            Insn::branch(Op::JeqK, 1, 0, 1),
            Insn::new(Op::RetK, 0),
            Insn::new(Op::LdxMem, 4),
            Insn::new(Op::Txa, 0),
            Insn::new(Op::RetA, 0),
        ];
        let live = liveness(&insns);
        let m4 = Registers::scratch(4);
        assert_eq!(live[0], Registers::NONE);
        assert_eq!(live[1], Registers::A);
        assert_eq!(live[2], Registers::A.union(m4));
        assert_eq!(live[3], Registers::NONE);
        assert_eq!(live[4], m4);
        assert_eq!(live[5], Registers::X);
    }
}
