//! The code generated so far, as a target.

use super::encode::{Code, Gpr, Mem, R8, R9, R10, RDX, RSI, RSP};
use super::registers::{A, CONTEXT, FIRST_SCRATCH, Scratch, register};
use crate::jit::buffer::{Buffer, Pos};
use crate::jit::node::Reg;
use crate::jit::target::{Needs, Target};

/// Code for x86-64.
pub(in super::super) struct X86_64 {
    pub(super) buffer: Buffer,
    pub(super) needs: Needs,
    pub(super) scratch: [Scratch; 16],
}

impl X86_64 {
    /// Prepends a sequence of instructions.
    #[inline]
    pub(super) fn write(&mut self, write: impl FnOnce(&mut Code)) {
        let mut code = Code::default();
        write(&mut code);
        self.buffer.prepend_few(code.bytes);
    }

    pub(super) fn swaps(&self) -> bool {
        self.needs.packet
    }

    /// `jcc`, by the number of the condition.
    pub(super) fn condition(&mut self, cc: u8, to: Pos) {
        let distance = self.here().distance(to);
        self.write(|code| {
            if distance < 0x80 {
                code.put([0x70 | cc, distance as u8]);
            } else {
                code.put([0x0f, 0x80 | cc]).imm32(distance);
            }
        });
    }

    /// The register with the index into a table or a mask.
    pub(super) fn index(base: u32) -> Gpr {
        if base == 0 { A } else { RDX }
    }
}

impl Target for X86_64 {
    const REACH: u32 = i32::MAX as u32;

    fn new(needs: Needs, insns: usize) -> X86_64 {
        let registers: &[Gpr] = if needs.packet { &[R8, R9, R10] } else { &[R8, R9, R10, RSI] };
        let mut free = registers.iter();
        let mut scratch = [Scratch::Stack(0); 16];
        for (index, place) in scratch.iter_mut().enumerate() {
            let used = needs.scratch >> index & 1 == 1;
            *place = match used.then(|| free.next()).flatten() {
                Some(&register) => Scratch::Register(register),
                None => Scratch::Stack(FIRST_SCRATCH - 4 * index as i32),
            };
        }
        X86_64 { buffer: Buffer::new(64 + 12 * insns), needs, scratch }
    }

    fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    fn buffer_mut(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    fn entry(&mut self, zero: &[Reg]) {
        let helper = self.needs.helper;
        self.write(|code| {
            for &reg in zero {
                code.set(register(reg), 0);
            }
            if helper {
                code.rm(true, [0x89], RDX.0, Mem::at(RSP, CONTEXT));
            }
        });
    }
}
