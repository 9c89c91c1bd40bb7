//! Jumps and returns.

use super::encode as e;
use super::registers::{A, T1, T2, number};
use super::target::Aarch64;
use crate::jit::buffer::Pos;
use crate::jit::target::{Cond, Control};

impl Control for Aarch64 {
    fn jump(&mut self, to: Pos) {
        let distance = self.distance(to);
        self.write(|code| {
            code.put(e::b(distance));
        });
    }

    fn branch(&mut self, when: Cond, to: Pos) {
        self.condition(number(when), to);
    }

    fn ret(&mut self) {
        self.write(|code| {
            code.put(e::mov(0, A)).put(e::RET);
        });
    }

    fn ret_constant(&mut self, value: u32) {
        self.write(|code| {
            code.set(0, value).put(e::RET);
        });
    }

    fn ret_select(&mut self, when: Cond, yes: u32, no: u32) {
        self.write(|code| {
            code.set(T1, yes).set(0, no).put(e::csel(0, T1, 0, number(when))).put(e::RET);
        });
    }

    // The value is in register 0.

    fn choice(&mut self, value: u32) {
        self.write(|code| {
            code.set(0, value);
        });
    }

    fn choose(&mut self, when: Cond, value: u32) {
        self.write(|code| {
            code.set(T1, value).put(e::csel(0, T1, 0, number(when)));
        });
    }

    fn ret_chosen(&mut self) {
        self.write(|code| {
            code.put(e::RET);
        });
    }

    fn ret_table(&mut self, base: u32, table: Pos) {
        self.write(|code| {
            code.put(e::ldr_scaled(0, T1, Aarch64::index(base))).put(e::RET);
        });
        self.table_address(table);
    }

    fn ret_table_unless(&mut self, base: u32, table: Pos, word: u32, to: Pos) {
        self.write(|code| {
            code.put(e::mov(0, T1)).put(e::RET);
        });
        self.branch(Cond::Eq, to);
        self.write(|code| {
            code.put(e::ldr_scaled(T1, T1, Aarch64::index(base))).compare(T1, word);
        });
        self.table_address(table);
    }

    fn jump_table(&mut self, base: u32, table: Pos) {
        self.write(|code| {
            code.put(e::ldrsw_scaled(T2, T1, Aarch64::index(base)));
            code.put(e::add64(T1, T1, T2)).put(e::br(T1));
        });
        self.table_address(table);
    }
}

impl Aarch64 {
    fn table_address(&mut self, table: Pos) {
        let distance = self.distance(table);
        self.write(|code| {
            code.put(e::adr(T1, distance));
        });
    }
}
