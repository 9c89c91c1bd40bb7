//! A simplified program, with the facts about it that engines use.

use callgate_core::cfg::{Registers, live_after};
use callgate_core::{Arch, Endian, Insn, Op, Source, Width, Word};

/// The input of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Input {
    /// `struct seccomp_data`, as a machine of this byte order lays it out. Its loads always succeed.
    Syscall(Endian),
    /// A packet.
    Packet,
}

/// A simplified program.
pub(crate) struct Flow {
    pub(crate) input: Input,
    pub(super) steps: Vec<Step>,
}

/// An instruction, and the facts about it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Step {
    pub(super) insn: Insn,
    /// The load whose value A holds before it.
    pub(super) load: LoadName,
    /// The registers that are live before it.
    pub(super) live: Registers,
    /// How many edges lead to it.
    pub(super) edges: u16,
    /// The first instruction from it on that has an effect.
    pub(super) dest: u16,
    /// It is a load that cannot fail.
    pub(super) succeeds: bool,
    /// It is a load relative to X that ends below offset 2^31.
    pub(super) near: bool,
}

impl Step {
    /// An instruction about which nothing is known.
    pub(super) const fn new(insn: Insn) -> Step {
        Step {
            insn,
            load: LoadName::NONE,
            live: Registers::NONE,
            edges: 0,
            dest: 0,
            succeeds: false,
            near: false,
        }
    }
}

/// An instruction without effect.
pub(super) const NOTHING: Insn = Insn::new(Op::Ja, 0);

impl Flow {
    /// The number of instructions.
    pub(crate) fn len(&self) -> usize {
        self.steps.len()
    }

    /// An instruction.
    pub(crate) fn insn(&self, at: usize) -> Option<Insn> {
        self.steps.get(at).map(|step| step.insn)
    }

    /// The instructions.
    pub(crate) fn insns(&self) -> impl DoubleEndedIterator<Item = Insn> + ExactSizeIterator {
        self.steps.iter().map(|step| step.insn)
    }

    /// The first instruction from `at` on that has an effect.
    pub(crate) fn dest(&self, at: usize) -> usize {
        self.steps.get(at).map_or(at, |step| usize::from(step.dest))
    }

    /// How many edges lead to an instruction; none to unreachable code.
    pub(crate) fn edges(&self, at: usize) -> u16 {
        self.steps.get(at).map_or(0, |step| step.edges)
    }

    /// The registers that are live before an instruction.
    pub(crate) fn live_before(&self, at: usize) -> Registers {
        self.steps.get(at).map_or(Registers::ALL, |step| step.live)
    }

    /// The registers that are live after an instruction.
    pub(crate) fn live_after(&self, at: usize) -> Registers {
        let live_after = |insn| live_after(|at| self.live_before(at), at, insn);
        self.insn(at).map_or(Registers::ALL, live_after)
    }

    /// The load whose value A holds before an instruction, if it is one into A at a constant offset.
    pub(crate) fn loaded(&self, at: usize) -> Option<Insn> {
        let load = self.steps.get(at)?.load.into_a()?;
        (load.op != Op::LdLen).then_some(load)
    }

    /// The architectures whose tokens are compared with the arch by `jeq`, in the order of [`Arch::ALL`].
    pub(crate) fn compared_arches(&self) -> Vec<Arch> {
        let arch = Some(Insn::new(Op::LdWordAbs, Word::ARCH.offset(Endian::NATIVE)));
        let compared = |(at, insn): (usize, Insn)| {
            (insn.op == Op::JeqK && self.loaded(at) == arch).then_some(insn.k)
        };
        let tokens: Vec<u32> = self.insns().enumerate().filter_map(compared).collect();
        Arch::ALL.iter().copied().filter(|arch| tokens.contains(&arch.token())).collect()
    }

    /// Whether an instruction is a load that cannot fail.
    pub(crate) fn succeeds(&self, at: usize) -> bool {
        self.steps.get(at).is_some_and(|step| step.succeeds)
    }

    /// Whether an instruction is a load relative to X that ends below offset 2^31.
    pub(crate) fn is_near(&self, at: usize) -> bool {
        self.steps.get(at).is_some_and(|step| step.near)
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
pub(super) struct LoadName(pub(super) u64);

impl LoadName {
    /// Not the value of a load.
    pub(super) const NONE: LoadName = LoadName(u64::MAX);
    pub(super) const LENGTH: LoadName = LoadName::new(0, LoadName::OF_LENGTH);

    const OF_LENGTH: u8 = 0x12;
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
