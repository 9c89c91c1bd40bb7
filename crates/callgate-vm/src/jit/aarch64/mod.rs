//! aarch64, little-endian.
//!
//! The code is a function of the procedure call standard that only uses caller-saved registers, so it
//! needs neither a prologue nor a stack frame (there is no red zone):
//!
//! | register | what it is |
//! |---|---|
//! | `x0` | the data, or the packet |
//! | `x1` | the length of the packet |
//! | `x2` | the context of the helper |
//! | `w3`, `w4` | A, X |
//! | `w5`–`w7` | temporary |
//! | `w8`–`w15` | scratch words 0 to 7 |
//! | `s16`–`s23` | scratch words 8 to 15 |
//!
//! Every write to a register has 32 bits, so A and X are also valid 64-bit indices.
//!
//! Sources: Procedure Call Standard for the Arm 64-bit Architecture, 6.1; for the encodings see
//! [`encode`].

mod compare;
mod compute;
mod control;
mod encode;
mod load;

use callgate_bpf::Width;

use super::buffer::{Buffer, Pos};
use super::node::Reg;
use super::target::{Cond, Needs, Target};
use encode as e;

const INPUT: e::Reg = 0;
const LENGTH: e::Reg = 1;
const CONTEXT: e::Reg = 2;
const A: e::Reg = 3;
const X: e::Reg = 4;
const T0: e::Reg = 5;
const T1: e::Reg = 6;
const T2: e::Reg = 7;
const SCRATCH: e::Reg = 8;
const SCRATCH_VECTOR: u32 = 16;
const IN_REGISTERS: u8 = 8;
const LINK: e::Reg = 30;

/// Signed conditions, for answers from outside and for offsets.
const GE: u32 = 10;
const LT: u32 = 11;

/// Code for aarch64.
pub(super) struct Aarch64 {
    buffer: Buffer,
    packet: bool,
}

/// A sequence of machine instructions, with room for those of one operation.
struct Code<const ROOM: usize = 8> {
    words: [u32; ROOM],
    len: usize,
}

impl<const ROOM: usize> Code<ROOM> {
    fn new() -> Code<ROOM> {
        Code { words: [0; ROOM], len: 0 }
    }

    fn put(&mut self, word: u32) -> &mut Code<ROOM> {
        self.words[self.len] = word;
        self.len += 1;
        self
    }

    /// `reg = value`, in one instruction or two.
    fn set(&mut self, reg: e::Reg, value: u32) -> &mut Code<ROOM> {
        let (low, high) = (value & 0xffff, value >> 16);
        match (low, high) {
            (_, 0) => self.put(e::movz(reg, low, 0)),
            (0, _) => self.put(e::movz(reg, high, 16)),
            (_, 0xffff) => self.put(e::movn(reg, !value & 0xffff)),
            _ => self.put(e::movz(reg, low, 0)).put(e::movk(reg, high, 16)),
        }
    }

    fn set64(&mut self, reg: e::Reg, value: u64) -> &mut Code<ROOM> {
        self.put(e::movz64(reg, value as u32 & 0xffff, 0));
        for shift in [16, 32, 48] {
            let half = (value >> shift) as u32 & 0xffff;
            if half != 0 {
                self.put(e::movk64(reg, half, shift));
            }
        }
        self
    }

    /// `to = from + value`.
    fn add(&mut self, to: e::Reg, from: e::Reg, value: u32) -> &mut Code<ROOM> {
        match (e::imm12(value), e::imm12(value.wrapping_neg())) {
            (Some(imm), _) => self.put(e::add_imm(to, from, imm)),
            (_, Some(imm)) => self.put(e::sub_imm(to, from, imm)),
            _ => self.set(T2, value).put(e::add(to, from, T2)),
        }
    }

    fn compare(&mut self, reg: e::Reg, value: u32) -> &mut Code<ROOM> {
        match (e::imm12(value), e::imm12(value.wrapping_neg())) {
            (Some(imm), _) => self.put(e::cmp_imm(reg, imm)),
            (_, Some(imm)) => self.put(e::cmn_imm(reg, imm)),
            _ => self.set(T2, value).put(e::cmp(reg, T2)),
        }
    }

    fn test(&mut self, reg: e::Reg, mask: u32) -> &mut Code<ROOM> {
        match e::bitmask(mask) {
            Some(imm) => self.put(e::tst_imm(reg, imm)),
            None => self.set(T2, mask).put(e::tst(reg, T2)),
        }
    }

    /// Converts a loaded value from network byte order.
    fn swap(&mut self, reg: e::Reg, width: Width) {
        match width {
            Width::Byte => {}
            Width::Half => {
                self.put(e::rev16(reg, reg));
            }
            Width::Word => {
                self.put(e::rev(reg, reg));
            }
        }
    }
}

fn size(width: Width) -> u32 {
    match width {
        Width::Byte => 0,
        Width::Half => 1,
        Width::Word => 2,
    }
}

fn number(when: Cond) -> u32 {
    match when {
        Cond::Eq | Cond::BitClear => 0,
        Cond::Ne | Cond::BitSet => 1,
        Cond::AboveOrEqual => 2,
        Cond::Below => 3,
        Cond::Above => 8,
        Cond::BelowOrEqual => 9,
    }
}

fn register(reg: Reg) -> e::Reg {
    match reg {
        Reg::A => A,
        Reg::X => X,
    }
}

impl Aarch64 {
    #[inline]
    fn write(&mut self, write: impl FnOnce(&mut Code)) {
        let mut code = Code::new();
        write(&mut code);
        self.prepend(&code);
    }

    fn prepend<const ROOM: usize>(&mut self, code: &Code<ROOM>) {
        for word in code.words[..code.len].iter().rev() {
            self.buffer.prepend(&word.to_le_bytes());
        }
    }

    /// The displacement from the instruction that is emitted next.
    fn distance(&self, to: Pos) -> u32 {
        self.here().distance(to) + 4
    }

    fn condition(&mut self, cond: u32, to: Pos) {
        let distance = self.distance(to);
        self.write(|code| {
            code.put(e::b_cond(cond, distance));
        });
    }

    fn index(base: u32) -> e::Reg {
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
