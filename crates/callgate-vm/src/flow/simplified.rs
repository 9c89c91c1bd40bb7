//! A simplified program, with the facts about it that engines use.

use callgate_core::cfg::{Registers, live_after};
use callgate_core::{Arch, Endian, Insn, Op, Source, Word};

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
