//! The program as the passes of the compiler see it: one [`Node`] per instruction, with absolute
//! targets, in the order of the program. All jumps go forward.

use callgate::bpf::Width;

use callgate::bpf::{Alu, Relation, Source};

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
    Alu(Alu, Source),
    Neg,
    /// X = A.
    Tax,
    /// A = X.
    Txa,
    Jump(u16),
    Branch {
        test: Relation,
        operand: Source,
        yes: u16,
        no: u16,
    },
    Ret(u32),
    RetA,
}
