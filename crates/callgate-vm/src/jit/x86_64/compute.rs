//! Operations on registers and scratch words.

use super::encode::{ADD, AND, Mem, OR, R11, RDX, RSP, SUB, XOR};
use super::registers::{A, Scratch, X, register};
use super::target::X86_64;
use crate::jit::buffer::Pos;
use crate::jit::node::Reg;
use crate::jit::target::{Compute, Cond, Control};
use callgate_core::{Alu, Source};

impl Compute for X86_64 {
    fn constant(&mut self, reg: Reg, k: u32) {
        self.write(|code| {
            code.set(register(reg), k);
        });
    }

    fn fetch(&mut self, reg: Reg, index: u8) {
        let reg = register(reg);
        let from = self.scratch[usize::from(index)];
        self.write(|code| {
            match from {
                Scratch::Register(from) => code.mov(reg, from),
                Scratch::Stack(at) => code.rm(false, [0x8b], reg.0, Mem::at(RSP, at)),
            };
        });
    }

    fn store(&mut self, reg: Reg, index: u8) {
        let reg = register(reg);
        let to = self.scratch[usize::from(index)];
        self.write(|code| {
            match to {
                Scratch::Register(to) => code.mov(to, reg),
                Scratch::Stack(at) => code.rm(false, [0x89], reg.0, Mem::at(RSP, at)),
            };
        });
    }

    fn alu(&mut self, alu: Alu, operand: Source, zero: Pos) {
        let simple = match alu {
            Alu::Add => Some(ADD),
            Alu::Sub => Some(SUB),
            Alu::Or => Some(OR),
            Alu::And => Some(AND),
            Alu::Xor => Some(XOR),
            _ => None,
        };
        let divides = matches!(alu, Alu::Div | Alu::Mod);
        self.write(|code| match (simple, alu, operand) {
            (Some(op), _, Source::K(k)) => {
                code.alu_imm(op, A, k);
            }
            (Some(op), _, Source::X) => {
                code.rr(false, [8 * op + 1], X.0, A);
            }
            (_, Alu::Mul, Source::K(k)) => match i8::try_from(k as i32) {
                Ok(small) => {
                    code.rr(false, [0x6b], A.0, A).imm8(small as u8);
                }
                Err(_) => {
                    code.rr(false, [0x69], A.0, A).imm32(k);
                }
            },
            (_, Alu::Mul, Source::X) => {
                code.rr(false, [0x0f, 0xaf], A.0, X);
            }
            (_, Alu::Lsh | Alu::Rsh, Source::K(k)) => {
                let op = if alu == Alu::Lsh { 4 } else { 5 };
                code.rr(false, [0xc1], op, A).imm8(k as u8 & 31);
            }
            (_, Alu::Lsh | Alu::Rsh, Source::X) => {
                code.rr(false, [0xd3], if alu == Alu::Lsh { 4 } else { 5 }, A);
            }
            (_, Alu::Div, Source::K(k)) if k.is_power_of_two() => {
                code.rr(false, [0xc1], 5, A).imm8(k.trailing_zeros() as u8);
            }
            (_, Alu::Mod, Source::K(k)) if k.is_power_of_two() => {
                code.alu_imm(AND, A, k - 1);
            }
            (_, _, operand) => {
                let by = match operand {
                    Source::K(k) => {
                        code.mov_imm(R11, k);
                        R11
                    }
                    Source::X => X,
                };
                code.set(RDX, 0).rr(false, [0xf7], 6, by);
                if alu == Alu::Mod {
                    code.mov(A, RDX);
                }
            }
        });
        if divides && operand == Source::X {
            self.branch(Cond::Eq, zero);
            self.write(|code| {
                code.rr(false, [0x85], X.0, X);
            });
        }
    }

    fn negate(&mut self) {
        self.write(|code| {
            code.rr(false, [0xf7], 3, A);
        });
    }

    fn tax(&mut self) {
        self.write(|code| {
            code.mov(X, A);
        });
    }

    fn txa(&mut self) {
        self.write(|code| {
            code.mov(A, X);
        });
    }
}
