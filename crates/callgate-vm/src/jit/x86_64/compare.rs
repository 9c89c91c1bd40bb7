//! Comparisons.

use callgate_core::Width;

use super::encode::{CMP, Code, Mem, R8, R11, RDI, RDX};
use super::registers::{A, X};
use super::target::X86_64;
use crate::jit::target::Compare;
use callgate_core::{Relation, Source};

impl Compare for X86_64 {
    fn compare(&mut self, test: Relation, operand: Source) {
        self.write(|code| {
            match (test, operand) {
                (Relation::Shares, Source::K(k)) => X86_64::test_imm(code, k),
                (Relation::Shares, Source::X) => {
                    code.rr(false, [0x85], X.0, A);
                }
                (_, Source::K(0)) => {
                    code.rr(false, [0x85], A.0, A);
                }
                (_, Source::K(k)) => {
                    code.alu_imm(CMP, A, k);
                }
                (_, Source::X) => {
                    code.rr(false, [8 * CMP + 1], X.0, A);
                }
            };
        });
    }

    fn can_compare_load(&self, test: Relation, width: Width) -> bool {
        width == Width::Byte || !self.swaps() || matches!(test, Relation::Equal | Relation::Shares)
    }

    fn compare_load(&mut self, test: Relation, k: u32, width: Width, offset: u32) {
        let mem = Mem::at(RDI, offset as i32);
        let swap = self.swaps();
        self.write(|code| match (width, test) {
            (Width::Byte, Relation::Shares) => {
                code.rm(false, [0xf6], 0, mem).imm8(k as u8);
            }
            // Comparisons with constants above 255 were folded by the data flow analysis.
            (Width::Byte, _) => {
                code.rm(false, [0x80], CMP, mem).imm8(k as u8);
            }
            // A 16-bit constant would slow decoding down on many processors.
            (Width::Half, _) => {
                let k = if swap { u32::from((k as u16).swap_bytes()) } else { k };
                code.rm(false, [0x0f, 0xb7], A.0, mem);
                match test {
                    Relation::Shares => X86_64::test_imm(code, k),
                    _ => {
                        code.alu_imm(CMP, A, k);
                    }
                }
            }
            (Width::Word, _) => {
                let k = if swap { k.swap_bytes() } else { k };
                match (test, i8::try_from(k as i32)) {
                    (Relation::Shares, _) => code.rm(false, [0xf7], 0, mem).imm32(k),
                    (_, Ok(k)) => code.rm(false, [0x83], CMP, mem).imm8(k as u8),
                    (_, Err(_)) => code.rm(false, [0x81], CMP, mem).imm32(k),
                };
            }
        });
    }

    fn check_index(&mut self, base: u32, last: u32) {
        self.write(|code| {
            code.alu_imm(CMP, X86_64::index(base), last);
        });
        self.index_from(base);
    }

    fn bit(&mut self, base: u32, mask: u64) {
        self.write(|code| {
            // bt r11, index
            code.mov_mask(R11, mask).rr(true, [0x0f, 0xa3], X86_64::index(base).0, R11);
        });
    }

    fn bit_within(&mut self, base: u32, mask: u64, last: u32) {
        let index = X86_64::index(base);
        self.write(|code| {
            // cmova r11, r8; bt r11, index
            code.alu_imm(CMP, index, last).rr(true, [0x0f, 0x47], R11.0, R8);
            code.rr(true, [0x0f, 0xa3], index.0, R11);
        });
        self.write(|code| {
            code.set(R8, 0).mov_mask(R11, mask);
        });
        self.index_from(base);
    }
}

impl X86_64 {
    /// Puts A - `base` into its register, if that is not A.
    fn index_from(&mut self, base: u32) {
        if base != 0 {
            self.write(|code| {
                // lea edx, [rax - base]
                code.rm(false, [0x8d], RDX.0, Mem::at(A, base.wrapping_neg() as i32));
            });
        }
    }

    /// `test` of A, in the shortest form.
    fn test_imm(code: &mut Code, k: u32) {
        match u8::try_from(k) {
            Ok(k) => code.put([0xa8, k]),
            Err(_) => code.put([0xa9]).imm32(k),
        };
    }
}
