//! Emits loads, fused with the operations on the loaded value.

use callgate_core::{Insn, Op as Bpf, Width, Word};

use super::emit::Emitter;
use super::load::Load;
use super::op::{Op, Test};
use crate::flow::{Input, compares_constant, is_special};

impl Emitter<'_> {
    /// What an instruction loads into A; `None` if it is not a load.
    pub(super) fn load_of(&self, insn: Insn) -> Option<Load> {
        let (width, k) = (insn.op.width().filter(|_| insn.op != Bpf::LdxMsh)?, insn.k);
        if matches!(insn.op, Bpf::LdWordInd | Bpf::LdHalfInd | Bpf::LdByteInd) {
            return Some(Load::Indexed(width, k));
        }
        let Input::Syscall(endian) = self.flow.input else {
            return Some(match width {
                width if is_special(k) => Load::Special(width, k),
                width => Load::Packet(width, k),
            });
        };
        // Accepted programs load nothing else.
        let Some(word) = Word::from_offset(k, endian) else { return Some(Load::Nowhere) };
        Some(match (word, word.argument()) {
            (Word::NR, _) => Load::Nr,
            (Word::ARCH, _) => Load::Arch,
            (_, Some((arg, high))) => Load::Arg(arg, if high { 32 } else { 0 }),
            (word, None) => Load::Ip(if word == Word::IP_HIGH { 32 } else { 0 }),
        })
    }

    /// Emits a load and what is fused with it; returns the next instruction to emit.
    pub(super) fn load(&mut self, at: usize, load: Load) -> Option<usize> {
        let next = self.next(at);
        let following = self.insn(next)?;
        if compares_constant(following)
            && let Some(pieces) = self.spread(next)
        {
            if let Load::Nr = load {
                self.table(&pieces, true);
            } else {
                self.code.ops.push(load.plain());
                self.table(&pieces, false);
            }
            return None;
        }
        if self.probe(at).is_some() {
            return None;
        }
        if compares_constant(following) {
            let test = self.test(next, u32::MAX)?;
            return self.fuse(load, test);
        }
        if let Some((mask, branch)) = self.masked_branch(next) {
            let test = self.test(branch, mask)?;
            return self.fuse(load, test);
        }
        if let (Load::Packet(Width::Half, k), Bpf::SubX) = (load, following.op) {
            self.code.ops.push(Op::HalfMinusX(k));
            return Some(self.next(next));
        }
        if let Some((field, after)) = self.field(next) {
            match load {
                // Programs compute the length of an IP header like this for a later `sub x`.
                Load::Packet(Width::Byte, k) => self.code.ops.push(Op::FieldByte(k, field)),
                Load::Indexed(Width::Byte, k) => {
                    self.code.ops.push(Op::IndexedFieldByte(k, field));
                }
                _ => self.code.ops.extend([load.plain(), Op::Field(field)]),
            }
            return Some(after);
        }
        self.code.ops.push(load.plain());
        if let Load::Nowhere = load { None } else { Some(next) }
    }

    /// Emits a load and a test, fused if there is an operation for both.
    pub(super) fn fuse(&mut self, load: Load, test: Test) -> Option<usize> {
        let op = match load {
            Load::Nr => Op::TestNr(test),
            Load::Arch => Op::TestArch(test),
            Load::Arg(arg, shift) => Op::TestArg(arg, shift, test),
            Load::Packet(Width::Byte, k) => Op::TestByte(k, test),
            Load::Packet(Width::Half, k) => Op::TestHalf(k, test),
            Load::Packet(Width::Word, k) => Op::TestWord(k, test),
            Load::Indexed(width, k) => Op::TestIndexed(width, k, test),
            Load::Ip(_) | Load::Special(..) | Load::Nowhere => {
                self.code.ops.push(load.plain());
                Op::Test(test)
            }
        };
        self.code.ops.push(op);
        None
    }
}
