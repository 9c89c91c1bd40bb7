//! Operations on registers and scratch words.

use super::code::Code;
use super::encode as e;
use super::registers::{A, IN_REGISTERS, SCRATCH, SCRATCH_VECTOR, T0, T1, X, register};
use super::target::Aarch64;
use crate::jit::buffer::Pos;
use crate::jit::node::Reg;
use crate::jit::target::Compute;
use callgate_core::{Alu, Source};

impl Compute for Aarch64 {
    fn constant(&mut self, reg: Reg, k: u32) {
        self.write(|code| {
            code.set(register(reg), k);
        });
    }

    fn fetch(&mut self, reg: Reg, index: u8) {
        let (reg, at) = (register(reg), u32::from(index));
        self.write(|code| {
            code.put(match index < IN_REGISTERS {
                true => e::mov(reg, SCRATCH + at),
                false => e::fmov_from(reg, SCRATCH_VECTOR + at - u32::from(IN_REGISTERS)),
            });
        });
    }

    fn store(&mut self, reg: Reg, index: u8) {
        let (reg, at) = (register(reg), u32::from(index));
        self.write(|code| {
            code.put(match index < IN_REGISTERS {
                true => e::mov(SCRATCH + at, reg),
                false => e::fmov_to(SCRATCH_VECTOR + at - u32::from(IN_REGISTERS), reg),
            });
        });
    }

    fn alu(&mut self, alu: Alu, operand: Source, zero: Pos) {
        self.write(|code| {
            let k = match operand {
                Source::K(k) => k,
                Source::X => {
                    by_register(code, alu, X);
                    return;
                }
            };
            let logical = e::bitmask(k);
            match (alu, logical) {
                (Alu::Add, _) => code.add(A, A, k),
                (Alu::Sub, _) => code.add(A, A, k.wrapping_neg()),
                (Alu::Or, Some(imm)) => code.put(e::orr_imm(A, A, imm)),
                (Alu::And, Some(imm)) => code.put(e::and_imm(A, A, imm)),
                (Alu::Xor, Some(imm)) => code.put(e::eor_imm(A, A, imm)),
                (Alu::Lsh, _) => code.put(e::lsl_imm(A, A, k & 31)),
                (Alu::Rsh, _) => code.put(e::lsr_imm(A, A, k & 31)),
                (Alu::Div, _) if k.is_power_of_two() => {
                    code.put(e::lsr_imm(A, A, k.trailing_zeros()))
                }
                _ => by_register(code.set(T0, k), alu, T0),
            };
        });
        if matches!(alu, Alu::Div | Alu::Mod) && operand == Source::X {
            let distance = self.distance(zero);
            self.write(|code| {
                code.put(e::cbz(X, distance));
            });
        }
    }

    fn negate(&mut self) {
        self.write(|code| {
            code.put(e::sub(A, e::ZERO, A));
        });
    }

    fn tax(&mut self) {
        self.write(|code| {
            code.put(e::mov(X, A));
        });
    }

    fn txa(&mut self) {
        self.write(|code| {
            code.put(e::mov(A, X));
        });
    }
}

/// `A = A op by`; a divisor is not 0.
fn by_register(code: &mut Code, alu: Alu, by: e::Reg) -> &mut Code {
    let quotient = T1;
    if alu == Alu::Mod {
        code.put(e::udiv(quotient, A, by));
    }
    code.put(match alu {
        Alu::Add => e::add(A, A, by),
        Alu::Sub => e::sub(A, A, by),
        Alu::Mul => e::mul(A, A, by),
        Alu::Div => e::udiv(A, A, by),
        Alu::Mod => e::msub(A, quotient, by, A),
        Alu::Or => e::orr(A, A, by),
        Alu::And => e::and(A, A, by),
        Alu::Xor => e::eor(A, A, by),
        Alu::Lsh => e::lsl(A, A, by),
        Alu::Rsh => e::lsr(A, A, by),
    })
}
