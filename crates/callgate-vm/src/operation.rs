//! What instructions compute and compare, apart from where the right side comes from: for all engines that
//! translate programs.

use callgate::bpf::{Insn, Op};

/// The right side of an operation whose left side is A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operand {
    K(u32),
    X,
}

/// An operation on A. Shifts use the low five bits of the distance; division by a zero X ends the
/// program with 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Alu {
    Add,
    Sub,
    Mul,
    Div,
    Mod,
    Or,
    And,
    Xor,
    Lsh,
    Rsh,
}

impl Alu {
    /// The value; `None` for a division by zero.
    #[inline(always)]
    pub(crate) fn apply(self, a: u32, b: u32) -> Option<u32> {
        Some(match self {
            Alu::Add => a.wrapping_add(b),
            Alu::Sub => a.wrapping_sub(b),
            Alu::Mul => a.wrapping_mul(b),
            Alu::Div => a.checked_div(b)?,
            Alu::Mod => a.checked_rem(b)?,
            Alu::Or => a | b,
            Alu::And => a & b,
            Alu::Xor => a ^ b,
            Alu::Lsh => a.wrapping_shl(b),
            Alu::Rsh => a.wrapping_shr(b),
        })
    }

    /// Whether `a OP k` is `a`, whatever `a` is.
    pub(crate) fn is_identity(self, k: u32) -> bool {
        match self {
            Alu::Add | Alu::Sub | Alu::Or | Alu::Xor | Alu::Lsh | Alu::Rsh => k == 0,
            Alu::Mul | Alu::Div => k == 1,
            Alu::And => k == u32::MAX,
            Alu::Mod => false,
        }
    }

    /// The instruction that does this with a constant.
    pub(crate) fn by_constant(self) -> Op {
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

/// What a branch asks about A, unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Cmp {
    Eq,
    Gt,
    Ge,
    /// Whether they have a bit in common.
    Set,
}

impl Cmp {
    #[inline(always)]
    pub(crate) fn holds(self, a: u32, b: u32) -> bool {
        match self {
            Cmp::Eq => a == b,
            Cmp::Gt => a > b,
            Cmp::Ge => a >= b,
            Cmp::Set => a & b != 0,
        }
    }

    /// The instruction that asks this about a constant.
    pub(crate) fn by_constant(self) -> Op {
        match self {
            Cmp::Eq => Op::JeqK,
            Cmp::Gt => Op::JgtK,
            Cmp::Ge => Op::JgeK,
            Cmp::Set => Op::JsetK,
        }
    }
}

/// The parts of an arithmetic instruction.
pub(crate) fn arithmetic(insn: Insn) -> Option<(Alu, Operand)> {
    use Operand::{K, X};
    let k = K(insn.k);
    Some(match insn.op {
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

/// The parts of a two-way jump.
pub(crate) fn comparison(insn: Insn) -> Option<(Cmp, Operand)> {
    let k = Operand::K(insn.k);
    Some(match insn.op {
        Op::JeqK => (Cmp::Eq, k),
        Op::JeqX => (Cmp::Eq, Operand::X),
        Op::JgtK => (Cmp::Gt, k),
        Op::JgtX => (Cmp::Gt, Operand::X),
        Op::JgeK => (Cmp::Ge, k),
        Op::JgeX => (Cmp::Ge, Operand::X),
        Op::JsetK => (Cmp::Set, k),
        Op::JsetX => (Cmp::Set, Operand::X),
        _ => return None,
    })
}
