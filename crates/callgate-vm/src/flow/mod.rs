//! Data flow analysis for all engines that translate programs: constant propagation, liveness, and the
//! destinations of comparisons.
//!
//! - [`facts`], forward: constant propagation over intervals, redundant loads, length checks;
//! - [`live`], backward: liveness, dead code, branches that decide nothing;
//! - [`walk`]: trees of comparisons as a function from the value to where it goes.
//!
//! The result is a program of the same length with simpler instructions. An instruction without effect
//! became `ja 0`. Branches of classic BPF only go forward, so one pass in each direction is exact.

mod facts;
mod live;
pub(crate) mod walk;

use callgate_bpf::cfg::{Registers, live_after};
use callgate_bpf::{Endian, Insn, Op, Source, Width};

/// The input of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// `struct seccomp_data`, as a machine of this byte order lays it out. Its loads always succeed.
    Call(Endian),
    /// A packet.
    Packet,
}

/// A simplified program.
pub(crate) struct Flow {
    pub(crate) insns: Vec<Insn>,
    pub(crate) input: Input,
    notes: Vec<Note>,
    /// Per instruction: how many edges lead to it.
    edges: Vec<u16>,
    /// Per instruction: the first instruction from it on that has an effect.
    dest: Vec<u16>,
    /// Per instruction: the registers that are live before it.
    live: Vec<Registers>,
}

/// Facts about an instruction from the forward pass.
#[derive(Clone, Copy)]
struct Note {
    /// The load whose value A holds before it.
    load: LoadName,
    /// It is a load that cannot fail.
    succeeds: bool,
    /// It is a load relative to X that ends below offset 2^31.
    near: bool,
}

/// An instruction without effect.
const NOTHING: Insn = Insn::new(Op::Ja, 0);

impl Flow {
    /// Analyses and simplifies an accepted program.
    pub(crate) fn of(insns: &[Insn], input: Input) -> Flow {
        let mut flow = facts::forward(insns, input);
        live::backward(&mut flow);
        flow
    }

    /// The first instruction from `at` on that has an effect.
    pub(crate) fn dest(&self, at: usize) -> usize {
        self.dest.get(at).map_or(at, |&at| usize::from(at))
    }

    /// How many edges lead to an instruction; none to unreachable code.
    pub(crate) fn edges(&self, at: usize) -> u16 {
        self.edges.get(at).copied().unwrap_or(0)
    }

    /// The registers that are live before an instruction.
    pub(crate) fn live_before(&self, at: usize) -> Registers {
        self.live.get(at).copied().unwrap_or(Registers::ALL)
    }

    /// The registers that are live after an instruction.
    pub(crate) fn live_after(&self, at: usize) -> Registers {
        self.insns.get(at).map_or(Registers::ALL, |insn| live_after(&self.live, at, *insn))
    }

    /// The load whose value A holds before an instruction, if it is one into A at a constant offset.
    pub(crate) fn loaded(&self, at: usize) -> Option<Insn> {
        let load = self.notes.get(at)?.load.into_a()?;
        (load.op != Op::LdLen).then_some(load)
    }

    /// Whether an instruction is a load that cannot fail.
    pub(crate) fn succeeds(&self, at: usize) -> bool {
        self.notes.get(at).is_some_and(|note| note.succeeds)
    }

    /// Whether an instruction is a load relative to X that ends below offset 2^31.
    pub(crate) fn is_near(&self, at: usize) -> bool {
        self.notes.get(at).is_some_and(|note| note.near)
    }
}

/// Whether it is a branch on a comparison with a constant.
pub(crate) fn compares_constant(insn: Insn) -> bool {
    matches!(insn.comparison(), Some((_, Source::K(_))))
}

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
struct LoadName(u64);

impl LoadName {
    /// Not the value of a load.
    const NONE: LoadName = LoadName(u64::MAX);
    const LENGTH: LoadName = LoadName::new(0, LoadName::OF_LENGTH);

    const OF_LENGTH: u8 = 0x12;
    /// `ldxb 4*([k]&0xf)`. Programs compute it in A, too, from the low bits of the byte.
    const OF_HEADER: u8 = 0x10;
    const LOW_BITS: u8 = 0x11;

    const fn new(offset: u32, what: u8) -> LoadName {
        LoadName((offset as u64) << 8 | what as u64)
    }

    const fn absolute(offset: u32, width: Width) -> LoadName {
        LoadName::new(offset, width.bytes() as u8)
    }

    const fn header_length(offset: u32) -> LoadName {
        LoadName::new(offset, LoadName::OF_HEADER)
    }

    fn is_some(self) -> bool {
        self != LoadName::NONE
    }

    fn offset(self) -> u32 {
        (self.0 >> 8) as u32
    }

    /// The instruction that loads it into A.
    fn into_a(self) -> Option<Insn> {
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
    fn into_x(self) -> Option<Insn> {
        let op = match self.0 as u8 {
            LoadName::OF_HEADER => Op::LdxMsh,
            LoadName::OF_LENGTH => Op::LdxLen,
            _ => return None,
        };
        Some(Insn::new(op, self.offset()))
    }
}
