//! The encodings of x86-64 that the compiler uses.
//!
//! Source: Intel 64 and IA-32 Architectures Software Developer's Manual, volume 2.

use crate::jit::buffer::Few;

/// A general-purpose register.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Gpr(pub(super) u8);

pub(super) const RAX: Gpr = Gpr(0);
pub(super) const RCX: Gpr = Gpr(1);
pub(super) const RDX: Gpr = Gpr(2);
pub(super) const RSP: Gpr = Gpr(4);
pub(super) const RSI: Gpr = Gpr(6);
pub(super) const RDI: Gpr = Gpr(7);
pub(super) const R8: Gpr = Gpr(8);
pub(super) const R9: Gpr = Gpr(9);
pub(super) const R10: Gpr = Gpr(10);
pub(super) const R11: Gpr = Gpr(11);

/// A memory operand: `[base + index * scale + displacement]`.
#[derive(Clone, Copy, Debug)]
pub(super) struct Mem {
    base: Gpr,
    /// The index register and the logarithm of its scale.
    index: Option<(Gpr, u8)>,
    displacement: i32,
}

impl Mem {
    pub(super) fn at(base: Gpr, displacement: i32) -> Mem {
        Mem { base, index: None, displacement }
    }

    pub(super) fn indexed(base: Gpr, index: Gpr, scale: u8, displacement: i32) -> Mem {
        Mem { base, index: Some((index, scale)), displacement }
    }
}

/// A short sequence of machine instructions.
#[derive(Default)]
pub(super) struct Code {
    pub(super) bytes: Few,
}

impl Code {
    #[inline]
    pub(super) fn put<const LEN: usize>(&mut self, bytes: [u8; LEN]) -> &mut Code {
        self.bytes.append(bytes);
        self
    }

    pub(super) fn imm8(&mut self, value: u8) -> &mut Code {
        self.put([value])
    }

    pub(super) fn imm32(&mut self, value: u32) -> &mut Code {
        self.put(value.to_le_bytes())
    }

    /// The prefix for registers above 7 and for 64 bits, if it is needed.
    fn rex(&mut self, wide: bool, reg: u8, index: u8, base: u8) {
        let rex = 0x40 | u8::from(wide) << 3 | (reg >> 3) << 2 | (index >> 3) << 1 | base >> 3;
        if rex != 0x40 {
            self.put([rex]);
        }
    }

    /// An instruction on two registers, or on one with `reg` as part of the opcode.
    #[inline]
    pub(super) fn rr<const LEN: usize>(
        &mut self,
        wide: bool,
        opcode: [u8; LEN],
        reg: u8,
        rm: Gpr,
    ) -> &mut Code {
        self.rex(wide, reg, 0, rm.0);
        self.put(opcode).put([0xc0 | (reg & 7) << 3 | rm.0 & 7])
    }

    /// An instruction on a register (or a part of the opcode) and a memory operand.
    #[inline]
    pub(super) fn rm<const LEN: usize>(
        &mut self,
        wide: bool,
        opcode: [u8; LEN],
        reg: u8,
        mem: Mem,
    ) -> &mut Code {
        let Mem { base, index, displacement } = mem;
        self.rex(wide, reg, index.map_or(0, |(index, _)| index.0), base.0);
        let small = i8::try_from(displacement);
        // Without displacement, the base 5 (or 13) would mean something else; it is not used.
        let mode = match small {
            Ok(0) => 0,
            Ok(_) => 0x40,
            Err(_) => 0x80,
        };
        let reg = (reg & 7) << 3;
        self.put(opcode);
        match index {
            Some((index, scale)) => {
                self.put([mode | reg | 4, scale << 6 | (index.0 & 7) << 3 | base.0 & 7])
            }
            None if base.0 & 7 == 4 => self.put([mode | reg | 4, 0x20 | base.0 & 7]),
            None => self.put([mode | reg | base.0 & 7]),
        };
        match small {
            Ok(0) => self,
            Ok(small) => self.imm8(small as u8),
            Err(_) => self.imm32(displacement as u32),
        }
    }

    /// `mov to, from` (32 bits; the upper half becomes 0).
    pub(super) fn mov(&mut self, to: Gpr, from: Gpr) -> &mut Code {
        self.rr(false, [0x89], from.0, to)
    }

    /// `mov reg, value`; does not change the flags.
    pub(super) fn mov_imm(&mut self, reg: Gpr, value: u32) -> &mut Code {
        self.rex(false, 0, 0, reg.0);
        self.put([0xb8 | reg.0 & 7]).imm32(value)
    }

    /// `mov reg, mask` (64 bits).
    pub(super) fn mov_mask(&mut self, reg: Gpr, mask: u64) -> &mut Code {
        match u32::try_from(mask) {
            Ok(mask) => self.mov_imm(reg, mask),
            Err(_) => {
                self.rex(true, 0, 0, reg.0);
                self.put([0xb8 | reg.0 & 7]).put(mask.to_le_bytes())
            }
        }
    }

    /// Sets a register with the shortest encoding; changes the flags.
    pub(super) fn set(&mut self, reg: Gpr, value: u32) -> &mut Code {
        if value == 0 { self.rr(false, [0x31], reg.0, reg) } else { self.mov_imm(reg, value) }
    }

    /// One of the eight operations that share their encoding (`add`, `or`, …, `cmp`), by number.
    pub(super) fn alu_imm(&mut self, op: u8, reg: Gpr, value: u32) -> &mut Code {
        match i8::try_from(value as i32) {
            Ok(small) => self.rr(false, [0x83], op, reg).imm8(small as u8),
            Err(_) if reg == RAX => self.put([op << 3 | 5]).imm32(value),
            Err(_) => self.rr(false, [0x81], op, reg).imm32(value),
        }
    }
}

/// The numbers for [`Code::alu_imm`]; the opcode for two registers is `8 * number + 1`.
pub(super) const ADD: u8 = 0;
pub(super) const OR: u8 = 1;
pub(super) const AND: u8 = 4;
pub(super) const SUB: u8 = 5;
pub(super) const XOR: u8 = 6;
pub(super) const CMP: u8 = 7;
