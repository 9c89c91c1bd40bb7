//! Loads of the input, identified by what they load.

use callgate_core::{Insn, Op, Width};

/// Whether an offset is relative to a header or that of an ancillary word: those of 2^31 and more.
pub(crate) fn is_special(offset: u32) -> bool {
    offset > i32::MAX as u32
}

/// The end of a load that is not at a special offset.
pub(crate) fn end(offset: u32, width: Width) -> u32 {
    offset.saturating_add(width.bytes() as u32)
}

/// Identifies a load of the input by its offset and what it loads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct LoadName(pub(super) u64);

impl LoadName {
    /// Not the value of a load.
    pub(super) const NONE: LoadName = LoadName(u64::MAX);
    pub(super) const LENGTH: LoadName = LoadName::new(0, LoadName::OF_LENGTH);

    pub(super) const OF_LENGTH: u8 = 0x12;
    /// `ldxb 4*([k]&0xf)`. Programs compute it in A, too, from the low bits of the byte.
    pub(super) const OF_HEADER: u8 = 0x10;
    pub(super) const LOW_BITS: u8 = 0x11;

    pub(super) const fn new(offset: u32, what: u8) -> LoadName {
        LoadName((offset as u64) << 8 | what as u64)
    }

    pub(super) const fn absolute(offset: u32, width: Width) -> LoadName {
        LoadName::new(offset, width.bytes() as u8)
    }

    pub(super) const fn header_length(offset: u32) -> LoadName {
        LoadName::new(offset, LoadName::OF_HEADER)
    }

    pub(super) fn is_some(self) -> bool {
        self != LoadName::NONE
    }

    pub(super) fn offset(self) -> u32 {
        (self.0 >> 8) as u32
    }

    /// The instruction that loads it into A.
    pub(super) fn into_a(self) -> Option<Insn> {
        let op = match self.0 as u8 {
            1 => Op::LdByteAbs,
            2 => Op::LdHalfAbs,
            4 => Op::LdWordAbs,
            LoadName::OF_LENGTH => Op::LdLen,
            _ => return None,
        };
        Some(Insn::new(op, self.offset()))
    }

    /// The instruction that loads it into X.
    pub(super) fn into_x(self) -> Option<Insn> {
        let op = match self.0 as u8 {
            LoadName::OF_HEADER => Op::LdxMsh,
            LoadName::OF_LENGTH => Op::LdxLen,
            _ => return None,
        };
        Some(Insn::new(op, self.offset()))
    }
}
