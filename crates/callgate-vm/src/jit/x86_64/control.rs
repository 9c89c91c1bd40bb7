//! Jumps and returns.

use super::encode::{CMP, Mem, R8, R11, RAX, RCX, RDX};
use super::registers::number;
use super::target::X86_64;
use crate::jit::buffer::Pos;
use crate::jit::target::{Cond, Control, Target};

impl Control for X86_64 {
    fn jump(&mut self, to: Pos) {
        let distance = self.here().distance(to);
        self.write(|code| {
            if distance < 0x80 {
                code.put([0xeb, distance as u8]);
            } else {
                code.put([0xe9]).imm32(distance);
            }
        });
    }

    fn branch(&mut self, when: Cond, to: Pos) {
        self.condition(number(when), to);
    }

    fn ret(&mut self) {
        self.write(|code| {
            code.put([0xc3]);
        });
    }

    fn ret_constant(&mut self, value: u32) {
        self.write(|code| {
            code.set(RAX, value).put([0xc3]);
        });
    }

    fn ret_select(&mut self, when: Cond, yes: u32, no: u32) {
        self.write(|code| {
            code.mov_imm(RAX, no).mov_imm(RDX, yes);
            code.rr(false, [0x0f, 0x40 | number(when)], RAX.0, RDX).put([0xc3]);
        });
    }

    // The value is in ecx.

    fn choice(&mut self, value: u32) {
        self.write(|code| {
            code.mov_imm(RCX, value);
        });
    }

    fn choose(&mut self, when: Cond, value: u32) {
        self.write(|code| {
            code.mov_imm(R8, value).rr(false, [0x0f, 0x40 | number(when)], RCX.0, R8);
        });
    }

    fn ret_chosen(&mut self) {
        self.write(|code| {
            code.mov(RAX, RCX).put([0xc3]);
        });
    }

    fn ret_table(&mut self, base: u32, table: Pos) {
        self.write(|code| {
            let word = Mem::indexed(R11, X86_64::index(base), 2, 0);
            code.rm(false, [0x8b], RAX.0, word).put([0xc3]);
        });
        self.table_address(table);
    }

    fn ret_table_unless(&mut self, base: u32, table: Pos, word: u32, to: Pos) {
        self.write(|code| {
            code.mov(RAX, R11).put([0xc3]);
        });
        self.branch(Cond::Eq, to);
        self.write(|code| {
            let entry = Mem::indexed(R11, X86_64::index(base), 2, 0);
            code.rm(false, [0x8b], R11.0, entry).alu_imm(CMP, R11, word);
        });
        self.table_address(table);
    }

    fn jump_table(&mut self, base: u32, table: Pos) {
        self.write(|code| {
            // movsxd rdx, [r11 + index * 4]; add rdx, r11; jmp rdx
            code.rm(true, [0x63], RDX.0, Mem::indexed(R11, X86_64::index(base), 2, 0));
            code.rr(true, [0x01], R11.0, RDX).rr(false, [0xff], 4, RDX);
        });
        self.table_address(table);
    }
}

impl X86_64 {
    fn table_address(&mut self, table: Pos) {
        let distance = self.here().distance(table);
        self.write(|code| {
            // lea r11, [rip + distance]
            code.put([0x4c, 0x8d, 0x1d]).imm32(distance);
        });
    }
}
