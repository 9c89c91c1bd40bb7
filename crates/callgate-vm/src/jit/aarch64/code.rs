//! Short sequences of machine instructions.

use callgate_core::Width;

use super::encode as e;
use super::registers::T2;

/// A sequence of machine instructions, with room for those of one operation.
pub(super) struct Code<const ROOM: usize = 8> {
    pub(super) words: [u32; ROOM],
    pub(super) len: usize,
}

impl<const ROOM: usize> Code<ROOM> {
    pub(super) fn new() -> Code<ROOM> {
        Code { words: [0; ROOM], len: 0 }
    }

    pub(super) fn put(&mut self, word: u32) -> &mut Code<ROOM> {
        self.words[self.len] = word;
        self.len += 1;
        self
    }

    /// `reg = value`, in one instruction or two.
    pub(super) fn set(&mut self, reg: e::Reg, value: u32) -> &mut Code<ROOM> {
        let (low, high) = (value & 0xffff, value >> 16);
        match (low, high) {
            (_, 0) => self.put(e::movz(reg, low, 0)),
            (0, _) => self.put(e::movz(reg, high, 16)),
            (_, 0xffff) => self.put(e::movn(reg, !value & 0xffff)),
            _ => self.put(e::movz(reg, low, 0)).put(e::movk(reg, high, 16)),
        }
    }

    pub(super) fn set64(&mut self, reg: e::Reg, value: u64) -> &mut Code<ROOM> {
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
    pub(super) fn add(&mut self, to: e::Reg, from: e::Reg, value: u32) -> &mut Code<ROOM> {
        match (e::imm12(value), e::imm12(value.wrapping_neg())) {
            (Some(imm), _) => self.put(e::add_imm(to, from, imm)),
            (_, Some(imm)) => self.put(e::sub_imm(to, from, imm)),
            _ => self.set(T2, value).put(e::add(to, from, T2)),
        }
    }

    pub(super) fn compare(&mut self, reg: e::Reg, value: u32) -> &mut Code<ROOM> {
        match (e::imm12(value), e::imm12(value.wrapping_neg())) {
            (Some(imm), _) => self.put(e::cmp_imm(reg, imm)),
            (_, Some(imm)) => self.put(e::cmn_imm(reg, imm)),
            _ => self.set(T2, value).put(e::cmp(reg, T2)),
        }
    }

    pub(super) fn test(&mut self, reg: e::Reg, mask: u32) -> &mut Code<ROOM> {
        match e::bitmask(mask) {
            Some(imm) => self.put(e::tst_imm(reg, imm)),
            None => self.set(T2, mask).put(e::tst(reg, T2)),
        }
    }

    /// Converts a loaded value from network byte order.
    pub(super) fn swap(&mut self, reg: e::Reg, width: Width) {
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
