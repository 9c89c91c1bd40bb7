//! Resolved loads.

use callgate_core::Width;

use super::op::Op;

/// A resolved load: from `seccomp_data` by field, from a packet by offset.
#[derive(Clone, Copy)]
pub(super) enum Load {
    Nr,
    Arch,
    /// A half of an argument: its index, and the shift (0 or 32).
    Arg(u8, u8),
    Ip(u8),
    /// At an offset below 2^31.
    Packet(Width, u32),
    /// Relative to X.
    Indexed(Width, u32),
    /// An ancillary word, or at an offset relative to a header.
    Special(Width, u32),
    /// A load that never succeeds.
    Nowhere,
}

impl Load {
    /// The load as an operation of its own.
    pub(super) fn plain(self) -> Op {
        match self {
            Load::Nr => Op::LoadNr,
            Load::Arch => Op::LoadArch,
            Load::Arg(arg, shift) => Op::LoadArg(arg, shift),
            Load::Ip(shift) => Op::LoadIp(shift),
            Load::Packet(Width::Byte, k) => Op::LoadByte(k),
            Load::Packet(Width::Half, k) => Op::LoadHalf(k),
            Load::Packet(Width::Word, k) => Op::LoadWord(k),
            Load::Indexed(Width::Byte, k) => Op::IndexedByte(k),
            Load::Indexed(Width::Half, k) => Op::IndexedHalf(k),
            Load::Indexed(Width::Word, k) => Op::IndexedWord(k),
            Load::Special(width, k) => Op::Special(width, k),
            Load::Nowhere => Op::Ret(0),
        }
    }
}
