//! The semantics of arithmetic and comparisons, shared by the interpreter, symbolic execution and the
//! engines.

use crate::program::insn::Insn;
use crate::program::op::Op;

/// The right operand of an operation whose left operand is A (`BPF_SRC`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// The constant of the instruction (`BPF_K`).
    K(u32),
    /// The index register (`BPF_X`).
    X,
}

/// A binary operation on 32-bit values (`BPF_OP` of the class `BPF_ALU`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[allow(missing_docs)]
pub enum Alu {
    Add,
    Sub,
    Mul,
    /// Unsigned. A division by an X of 0 ends the program with 0.
    Div,
    /// Unsigned. A division by an X of 0 ends the program with 0.
    Mod,
    Or,
    And,
    Xor,
    /// By the low five bits of the right operand.
    Lsh,
    /// Unsigned, by the low five bits of the right operand.
    Rsh,
}

impl Alu {
    /// The result; `None` for a division by zero.
    #[inline(always)]
    pub const fn apply(self, a: u32, b: u32) -> Option<u32> {
        Some(match self {
            Alu::Add => a.wrapping_add(b),
            Alu::Sub => a.wrapping_sub(b),
            Alu::Mul => a.wrapping_mul(b),
            Alu::Div => return a.checked_div(b),
            Alu::Mod => return a.checked_rem(b),
            Alu::Or => a | b,
            Alu::And => a & b,
            Alu::Xor => a ^ b,
            Alu::Lsh => a.wrapping_shl(b),
            Alu::Rsh => a.wrapping_shr(b),
        })
    }

    /// The instruction with a constant as its right operand.
    #[inline]
    pub const fn by_constant(self) -> Op {
        match self {
            Alu::Add => Op::AddK,
            Alu::Sub => Op::SubK,
            Alu::Mul => Op::MulK,
            Alu::Div => Op::DivK,
            Alu::Mod => Op::ModK,
            Alu::Or => Op::OrK,
            Alu::And => Op::AndK,
            Alu::Xor => Op::XorK,
            Alu::Lsh => Op::LshK,
            Alu::Rsh => Op::RshK,
        }
    }
}

/// How far a value may increase without a change of its bits from this number of bits on.
#[inline]
pub const fn slack_within(value: u32, bits: u32) -> u32 {
    match 1u32.checked_shl(bits) {
        Some(end) => !value & (end - 1),
        None => !value,
    }
}

/// The comparison of a branch, unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Relation {
    /// `A == operand`
    Equal,
    /// `A > operand`
    Greater,
    /// `A >= operand`
    AtLeast,
    /// `A & operand != 0`
    Shares,
}

impl Relation {
    /// Whether the relation holds.
    #[inline(always)]
    pub const fn holds(self, a: u32, b: u32) -> bool {
        match self {
            Relation::Equal => a == b,
            Relation::Greater => a > b,
            Relation::AtLeast => a >= b,
            Relation::Shares => a & b != 0,
        }
    }

    /// How far `a` may increase before the relation between `a` and `b` may change.
    #[inline]
    pub const fn slack(self, a: u32, b: u32) -> u32 {
        match self {
            Relation::Equal if a == b => 0,
            Relation::Equal | Relation::AtLeast if a < b => b - a - 1,
            Relation::Greater if a <= b => b - a,
            Relation::Shares => slack_within(a, b.trailing_zeros()),
            Relation::Equal | Relation::Greater | Relation::AtLeast => u32::MAX,
        }
    }

    /// The branch on this comparison with a constant.
    #[inline]
    pub const fn by_constant(self) -> Op {
        match self {
            Relation::Equal => Op::JeqK,
            Relation::Greater => Op::JgtK,
            Relation::AtLeast => Op::JgeK,
            Relation::Shares => Op::JsetK,
        }
    }
}

impl Insn {
    /// The operation and right operand of an instruction that computes A from A and another value;
    /// `None` for any other instruction.
    #[inline]
    pub const fn arithmetic(self) -> Option<(Alu, Source)> {
        use Source::{K, X};
        let k = K(self.k);
        Some(match self.op {
            Op::AddK => (Alu::Add, k),
            Op::AddX => (Alu::Add, X),
            Op::SubK => (Alu::Sub, k),
            Op::SubX => (Alu::Sub, X),
            Op::MulK => (Alu::Mul, k),
            Op::MulX => (Alu::Mul, X),
            Op::DivK => (Alu::Div, k),
            Op::DivX => (Alu::Div, X),
            Op::ModK => (Alu::Mod, k),
            Op::ModX => (Alu::Mod, X),
            Op::OrK => (Alu::Or, k),
            Op::OrX => (Alu::Or, X),
            Op::AndK => (Alu::And, k),
            Op::AndX => (Alu::And, X),
            Op::XorK => (Alu::Xor, k),
            Op::XorX => (Alu::Xor, X),
            Op::LshK => (Alu::Lsh, k),
            Op::LshX => (Alu::Lsh, X),
            Op::RshK => (Alu::Rsh, k),
            Op::RshX => (Alu::Rsh, X),
            _ => return None,
        })
    }

    /// The relation and right operand of a branch; `None` for any other instruction.
    #[inline]
    pub const fn comparison(self) -> Option<(Relation, Source)> {
        use Source::{K, X};
        let k = K(self.k);
        Some(match self.op {
            Op::JeqK => (Relation::Equal, k),
            Op::JeqX => (Relation::Equal, X),
            Op::JgtK => (Relation::Greater, k),
            Op::JgtX => (Relation::Greater, X),
            Op::JgeK => (Relation::AtLeast, k),
            Op::JgeX => (Relation::AtLeast, X),
            Op::JsetK => (Relation::Shares, k),
            Op::JsetX => (Relation::Shares, X),
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn arithmetic_and_comparisons_agree_with_the_opcodes() {
        for op in Op::ALL.iter().copied() {
            let insn = Insn { op, jt: 1, jf: 2, k: 3 };
            assert_eq!(insn.comparison().is_some(), op.is_branch(), "{op:?}");
            let is_alu = op.code() & 7 == 4 && op != Op::Neg;
            assert_eq!(insn.arithmetic().is_some(), is_alu, "{op:?}");
            // Bit 3 of the code says where the right operand comes from.
            let source = if op.code() & 8 == 0 { Source::K(3) } else { Source::X };
            if let Some((alu, given)) = insn.arithmetic() {
                assert_eq!((given, alu.by_constant().code()), (source, op.code() & !8), "{op:?}");
            }
            if let Some((relation, given)) = insn.comparison() {
                assert_eq!((given, relation.by_constant().code()), (source, op.code() & !8));
            }
        }
    }
}
