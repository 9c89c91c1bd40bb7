//! The reference interpreter: the semantics of classic BPF, for syscalls, io_uring requests and packets.
//!
//! It is written to be simple, not fast; every other engine is compared with it. A and X start
//! as 0. Division and remainder by a zero X, and a load outside of a packet, end the program with
//! the value 0; shifts by X use its low five bits; everything wraps at 32 bits.
//!
//! Source: `net/core/filter.c`, `bpf_convert_filter` and `bpf_skb_load_helper_*`.

use std::ops::ControlFlow;

use super::alu::Source;
use super::ancillary::{Ancillary, AncillaryWord, SKF_LL_OFF, SKF_NET_OFF};
use super::insn::Insn;
use super::op::Op;
use crate::program::limits::SCRATCH_WORDS;
use crate::program::width::Width;
use crate::{Endian, FilterInput, Verdict};

/// The result of running a filter: of a seccomp filter on a syscall, if not stated otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Run<V = Verdict> {
    /// The returned verdict.
    pub verdict: V,
    /// The number of executed instructions, including the return.
    pub executed: usize,
}

/// An instruction about to be executed, and the registers before it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The index of the instruction.
    pub index: usize,
    /// The instruction.
    pub insn: Insn,
    /// The accumulator.
    pub a: u32,
    /// The index register.
    pub x: u32,
}

impl Step {
    /// Whether the condition of a branch holds; `None` for an instruction that is not a branch.
    pub fn holds(&self) -> Option<bool> {
        let (relation, source) = self.insn.comparison()?;
        let right = match source {
            Source::K(k) => k,
            Source::X => self.x,
        };
        Some(relation.holds(self.a, right))
    }
}

/// The value of `ld [k]`, `ldh [k]` or `ldb [k]` in a socket filter: from the packet in network byte
/// order, or an ancillary word. `None` if the offset is outside, which ends the program with 0.
pub fn load_absolute<A: Ancillary + ?Sized>(
    packet: &[u8],
    ancillary: &A,
    k: u32,
    width: Width,
    a: u32,
    x: u32,
) -> Option<u32> {
    PacketInput { packet, ancillary }.special(k, width, a, x)
}

/// The value of `ld [x + k]` and its narrower forms in a socket filter, and the byte that
/// `ldxb 4*([k]&0xf)` loads. `None` if the offset is outside, which ends the program with 0.
pub fn load_indexed<A: Ancillary + ?Sized>(
    packet: &[u8],
    ancillary: &A,
    offset: u32,
    width: Width,
) -> Option<u32> {
    PacketInput { packet, ancillary }.load(offset, width)
}

/// The input of a program. A load that returns `None` ends the program with 0.
pub(super) trait Input {
    fn len(&self) -> u32;
    /// A load at a constant offset, which may be that of an ancillary word.
    fn special(&self, offset: u32, width: Width, a: u32, x: u32) -> Option<u32>;
    /// A load from the input itself, or relative to a header.
    fn load(&self, offset: u32, width: Width) -> Option<u32>;
}

/// Runs a checked program; calls `visit` before each instruction. Returns the value and the number of
/// executed instructions.
pub(super) fn execute<I: Input>(
    insns: &[Insn],
    input: &I,
    mut visit: impl FnMut(Step),
) -> (u32, usize) {
    let mut machine = Machine { a: 0, x: 0, index: 0, scratch: [0; SCRATCH_WORDS] };
    // A checked program only jumps forward, so that it executes each instruction at most once, and ends
    // with a return. The value after the loop is 0, which never allows.
    for executed in 1..=insns.len() {
        let Some(&insn) = insns.get(machine.index) else { break };
        visit(Step { index: machine.index, insn, a: machine.a, x: machine.x });
        if let ControlFlow::Break(value) = machine.step(insn, input) {
            return (value, executed);
        }
    }
    (Verdict::KILL_THREAD.0, insns.len())
}

/// The registers, and the index of the next instruction.
struct Machine {
    a: u32,
    x: u32,
    index: usize,
    scratch: [u32; SCRATCH_WORDS],
}

impl Machine {
    /// Executes one instruction; breaks with the program's return value.
    fn step<I: Input>(&mut self, insn: Insn, input: &I) -> ControlFlow<u32> {
        use ControlFlow::Break;
        self.index += 1;
        let k = insn.k;
        let (a, x) = (self.a, self.x);
        match insn.op {
            Op::LdWordAbs => self.a = or_end(input.special(k, Width::Word, a, x))?,
            Op::LdHalfAbs => self.a = or_end(input.special(k, Width::Half, a, x))?,
            Op::LdByteAbs => self.a = or_end(input.special(k, Width::Byte, a, x))?,
            Op::LdWordInd => self.a = or_end(input.load(x.wrapping_add(k), Width::Word))?,
            Op::LdHalfInd => self.a = or_end(input.load(x.wrapping_add(k), Width::Half))?,
            Op::LdByteInd => self.a = or_end(input.load(x.wrapping_add(k), Width::Byte))?,
            Op::LdLen => self.a = input.len(),
            Op::LdImm => self.a = k,
            Op::LdMem => self.a = self.scratch(k),
            Op::LdxLen => self.x = input.len(),
            Op::LdxImm => self.x = k,
            Op::LdxMem => self.x = self.scratch(k),
            Op::LdxMsh => self.x = (or_end(input.load(k, Width::Byte))? & 0xf) << 2,
            Op::St => self.set_scratch(k, a),
            Op::Stx => self.set_scratch(k, x),
            Op::Neg => self.a = a.wrapping_neg(),
            Op::Ja => self.index = self.index.saturating_add(k as usize),
            Op::RetK => return Break(k),
            Op::RetA => return Break(a),
            Op::Tax => self.x = a,
            Op::Txa => self.a = x,
            _ => return self.compute(insn),
        }
        ControlFlow::Continue(())
    }

    /// Executes arithmetic or a branch.
    fn compute(&mut self, insn: Insn) -> ControlFlow<u32> {
        let right = |source| match source {
            Source::K(k) => k,
            Source::X => self.x,
        };
        if let Some((alu, source)) = insn.arithmetic() {
            self.a = or_end(alu.apply(self.a, right(source)))?;
        } else if let Some((relation, source)) = insn.comparison() {
            let holds = relation.holds(self.a, right(source));
            self.index += usize::from(if holds { insn.jt } else { insn.jf });
        }
        ControlFlow::Continue(())
    }

    fn scratch(&self, k: u32) -> u32 {
        self.scratch.get(k as usize).copied().unwrap_or(0)
    }

    fn set_scratch(&mut self, k: u32, value: u32) {
        if let Some(word) = self.scratch.get_mut(k as usize) {
            *word = value;
        }
    }
}

/// The value; or breaks with 0.
fn or_end(value: Option<u32>) -> ControlFlow<u32, u32> {
    match value {
        Some(value) => ControlFlow::Continue(value),
        None => ControlFlow::Break(0),
    }
}

/// The structure that a filter reads: only whole words of it can be loaded.
pub(super) struct WordInput<'a, D> {
    pub(super) data: &'a D,
    pub(super) endian: Endian,
}

impl<D: FilterInput> Input for WordInput<'_, D> {
    fn len(&self) -> u32 {
        D::layout(self.endian).size()
    }

    fn special(&self, offset: u32, width: Width, _a: u32, _x: u32) -> Option<u32> {
        if width != Width::Word {
            return None;
        }
        self.data.load(offset, self.endian)
    }

    /// Not in filters that load words only.
    fn load(&self, _offset: u32, _width: Width) -> Option<u32> {
        None
    }
}

/// A packet, in network byte order, and its ancillary data.
pub(super) struct PacketInput<'a, A: ?Sized> {
    pub(super) packet: &'a [u8],
    pub(super) ancillary: &'a A,
}

impl<A: Ancillary + ?Sized> PacketInput<'_, A> {
    /// The start of a load; negative offsets are relative to a header.
    fn start(&self, offset: u32) -> Option<usize> {
        let (base, distance) = if (offset as i32) >= 0 {
            (0, offset)
        } else if offset >= SKF_NET_OFF {
            (self.ancillary.network_header(), offset - SKF_NET_OFF)
        } else if offset >= SKF_LL_OFF {
            (self.ancillary.link_header()?, offset - SKF_LL_OFF)
        } else {
            return None;
        };
        base.checked_add(usize::try_from(distance).ok()?)
    }
}

impl<A: Ancillary + ?Sized> Input for PacketInput<'_, A> {
    fn len(&self) -> u32 {
        u32::try_from(self.packet.len()).unwrap_or(u32::MAX)
    }

    fn special(&self, offset: u32, width: Width, a: u32, x: u32) -> Option<u32> {
        match AncillaryWord::from_offset(offset) {
            Some(AncillaryWord::AluXorX) => Some(a ^ x),
            Some(word) => Some(self.ancillary.word(word, self.packet, a, x)),
            None => self.load(offset, width),
        }
    }

    fn load(&self, offset: u32, width: Width) -> Option<u32> {
        let rest = self.packet.get(self.start(offset)?..)?;
        Some(match width {
            Width::Byte => u32::from(*rest.first()?),
            Width::Half => u32::from(u16::from_be_bytes(*rest.first_chunk()?)),
            Width::Word => u32::from_be_bytes(*rest.first_chunk()?),
        })
    }
}

/// The scratch words, A and X after an instruction, from those before it; `None` where it ends the
/// program.
#[cfg(test)]
pub(crate) fn registers_after(insn: Insn, before: [u32; 18]) -> Option<[u32; 18]> {
    let mut machine =
        Machine { a: before[16], x: before[17], index: 0, scratch: [0; SCRATCH_WORDS] };
    machine.scratch.copy_from_slice(&before[..SCRATCH_WORDS]);
    let input = PacketInput { packet: &[0xa5; 64], ancillary: &crate::NoAncillary };
    if machine.step(insn, &input).is_break() {
        return None;
    }
    let mut after = [machine.x; 18];
    after[..SCRATCH_WORDS].copy_from_slice(&machine.scratch);
    after[16] = machine.a;
    Some(after)
}

#[cfg(test)]
mod tests;
