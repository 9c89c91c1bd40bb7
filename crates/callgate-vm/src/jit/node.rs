//! The program as the passes of the compiler see it: one [`Node`] per instruction, with absolute
//! targets, in the order of the program. All jumps go forward.

use callgate::bpf::{Insn, Op, Width};

/// The largest value that a load yields.
pub(super) fn largest(width: Width) -> u32 {
    match width {
        Width::Byte => 0xff,
        Width::Half => 0xffff,
        Width::Word => u32::MAX,
    }
}

/// Where a load ends.
pub(super) fn end(offset: u32, width: Width) -> u32 {
    offset + width.bytes() as u32
}

/// One of the two registers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reg {
    A,
    X,
}

/// The right side of an operation whose left side is A.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operand {
    K(u32),
    X,
}

/// An operation on A. Shifts use the low five bits of the distance; division by a zero X ends the
/// program with 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Alu {
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
    pub(super) fn apply(self, a: u32, b: u32) -> Option<u32> {
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
    pub(super) fn is_identity(self, k: u32) -> bool {
        match self {
            Alu::Add | Alu::Sub | Alu::Or | Alu::Xor | Alu::Lsh | Alu::Rsh => k == 0,
            Alu::Mul | Alu::Div => k == 1,
            Alu::And => k == u32::MAX,
            Alu::Mod => false,
        }
    }
}

/// What a branch asks about A, unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Test {
    Eq,
    Gt,
    Ge,
    /// Whether they have a bit in common.
    Set,
}

impl Test {
    pub(super) fn holds(self, a: u32, b: u32) -> bool {
        match self {
            Test::Eq => a == b,
            Test::Gt => a > b,
            Test::Ge => a >= b,
            Test::Set => a & b != 0,
        }
    }
}

/// What is asked of the world outside of the compiled code; see [`super::outside`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Ask {
    /// An ancillary word, into A.
    Word,
    /// A load from one of the headers, into A.
    Load(Width),
    /// The length of an IP header at an offset from one of the headers, into X.
    HeaderLength,
}

/// What one instruction became.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Node {
    /// No way leads here, or what leads here is part of another node.
    Dead,
    /// Nothing is left to do.
    Nop,
    Imm(Reg, u32),
    /// The length of the packet.
    Length(Reg),
    /// A load into A. With `check`, a packet that does not reach so far ends the program with 0.
    Load {
        width: Width,
        offset: u32,
        check: bool,
    },
    /// A packet with fewer bytes ends the program with 0.
    Check(u32),
    /// X = four times the low four bits of a byte.
    HeaderLength {
        offset: u32,
        check: bool,
    },
    /// A load into A at X + `offset`. The sum wraps, unless it is `near`: then it is below 2^31.
    Indexed {
        width: Width,
        offset: u32,
        near: bool,
    },
    /// A question to [`super::outside`].
    Outside {
        ask: Ask,
        offset: u32,
    },
    Fetch(Reg, u8),
    Store(Reg, u8),
    Alu(Alu, Operand),
    Neg,
    /// X = A.
    Tax,
    /// A = X.
    Txa,
    Jump(u16),
    Branch {
        test: Test,
        operand: Operand,
        yes: u16,
        no: u16,
    },
    Ret(u32),
    RetA,
}

/// The parts of an arithmetic instruction.
pub(super) fn arithmetic(insn: Insn) -> Option<(Alu, Operand)> {
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
pub(super) fn branch(insn: Insn) -> Option<(Test, Operand)> {
    let k = Operand::K(insn.k);
    Some(match insn.op {
        Op::JeqK => (Test::Eq, k),
        Op::JeqX => (Test::Eq, Operand::X),
        Op::JgtK => (Test::Gt, k),
        Op::JgtX => (Test::Gt, Operand::X),
        Op::JgeK => (Test::Ge, k),
        Op::JgeX => (Test::Ge, Operand::X),
        Op::JsetK => (Test::Set, k),
        Op::JsetX => (Test::Set, Operand::X),
        _ => return None,
    })
}
