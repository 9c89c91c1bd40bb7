//! A simplified program, with the facts about it that engines use.

use callgate_bpf::cfg::{Registers, live_after};
use callgate_bpf::{Arch, Endian, Insn, Op, Source, Word};

use super::load::LoadName;

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
    pub(crate) insns: Vec<Insn>,
    pub(crate) input: Input,
    pub(super) notes: Vec<Note>,
    /// Per instruction: how many edges lead to it.
    pub(super) edges: Vec<u16>,
    /// Per instruction: the first instruction from it on that has an effect.
    pub(super) dest: Vec<u16>,
    /// Per instruction: the registers that are live before it.
    pub(super) live: Vec<Registers>,
}

/// Facts about an instruction from the forward pass.
#[derive(Clone, Copy)]
pub(super) struct Note {
    /// The load whose value A holds before it.
    pub(super) load: LoadName,
    /// It is a load that cannot fail.
    pub(super) succeeds: bool,
    /// It is a load relative to X that ends below offset 2^31.
    pub(super) near: bool,
}

/// An instruction without effect.
pub(super) const NOTHING: Insn = Insn::new(Op::Ja, 0);

impl Flow {
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

    /// The architectures whose tokens are compared with the arch by `jeq`, in the order of [`Arch::ALL`].
    pub(crate) fn compared_arches(&self) -> Vec<Arch> {
        let arch = Some(Insn::new(Op::LdWordAbs, Word::ARCH.offset(Endian::NATIVE)));
        let compared = |(at, insn): (usize, &Insn)| {
            (insn.op == Op::JeqK && self.loaded(at) == arch).then_some(insn.k)
        };
        let tokens: Vec<u32> = self.insns.iter().enumerate().filter_map(compared).collect();
        Arch::ALL.iter().copied().filter(|arch| tokens.contains(&arch.token())).collect()
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
