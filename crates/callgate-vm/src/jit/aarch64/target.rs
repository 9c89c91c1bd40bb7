//! The code generated so far, as a target.

use super::code::Code;
use super::encode as e;
use super::registers::{A, T0, register};
use crate::jit::buffer::{Buffer, Few, Pos};
use crate::jit::node::Reg;
use crate::jit::target::{Needs, Target};

/// Code for aarch64.
pub(in super::super) struct Aarch64 {
    pub(super) buffer: Buffer,
    pub(super) packet: bool,
}

impl Aarch64 {
    #[inline]
    pub(super) fn write(&mut self, write: impl FnOnce(&mut Code)) {
        let mut code = Code::new();
        write(&mut code);
        self.prepend(&code);
    }

    pub(super) fn prepend<const ROOM: usize>(&mut self, code: &Code<ROOM>) {
        for words in code.words[..code.len].rchunks(Few::MOST / 4) {
            let mut few = Few::default();
            words.iter().for_each(|word| few.append(word.to_le_bytes()));
            self.buffer.prepend_few(few);
        }
    }

    /// The displacement from the instruction that is emitted next.
    pub(super) fn distance(&self, to: Pos) -> u32 {
        self.here().distance(to) + 4
    }

    pub(super) fn condition(&mut self, cond: u32, to: Pos) {
        let distance = self.distance(to);
        self.write(|code| {
            code.put(e::b_cond(cond, distance));
        });
    }

    pub(super) fn index(base: u32) -> e::Reg {
        if base == 0 { A } else { T0 }
    }
}

impl Target for Aarch64 {
    const REACH: u32 = (1 << 20) - 4;

    fn new(needs: Needs, insns: usize) -> Aarch64 {
        Aarch64 { buffer: Buffer::new(64 + 12 * insns), packet: needs.packet }
    }

    fn buffer(&self) -> &Buffer {
        &self.buffer
    }

    fn buffer_mut(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    fn entry(&mut self, zero: &[Reg]) {
        self.write(|code| {
            for &reg in zero {
                code.set(register(reg), 0);
            }
        });
    }
}
