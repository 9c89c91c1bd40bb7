//! Classic BPF: instructions, programs that the kernel accepts, text forms, and the reference
//! interpreter.

mod op;

pub use op::{Op, Operand};

/// One instruction (`struct sock_filter`) whose operation is known.
///
/// The kernel ignores the fields that an operation does not use; they are kept as they were, so
/// that a program survives a round trip byte for byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Insn {
    /// The operation.
    pub op: Op,
    /// For a branch: how many instructions to skip when the condition holds.
    pub jt: u8,
    /// For a branch: how many instructions to skip when it does not.
    pub jf: u8,
    /// The constant, offset, scratch index or jump distance.
    pub k: u32,
}

impl Insn {
    /// An instruction that is not a branch.
    pub const fn new(op: Op, k: u32) -> Insn {
        Insn { op, jt: 0, jf: 0, k }
    }

    /// A two-way jump.
    pub const fn branch(op: Op, k: u32, jt: u8, jf: u8) -> Insn {
        Insn { op, jt, jf, k }
    }
}

/// The longest program that the kernel accepts (`BPF_MAXINSNS`).
pub const MAX_INSNS: usize = 4096;

/// How many scratch words a program has (`BPF_MEMWORDS`).
pub const SCRATCH_WORDS: usize = 16;
