//! What a condition is about.

use callgate::bpf::Width;

use super::{A, Aarch64, T0, T1, X, encode as e};
use crate::jit::target::{Compare, Load};
use crate::operation::{Cmp, Operand};

impl Compare for Aarch64 {
    fn compare(&mut self, test: Cmp, operand: Operand) {
        self.write(|code| {
            match (test, operand) {
                (Cmp::Set, Operand::K(k)) => code.test(A, k),
                (Cmp::Set, Operand::X) => code.put(e::tst(A, X)),
                (_, Operand::K(k)) => code.compare(A, k),
                (_, Operand::X) => code.put(e::cmp(A, X)),
            };
        });
    }

    /// There are no comparisons with memory.
    fn can_compare_load(&self, _test: Cmp, _width: Width) -> bool {
        false
    }

    fn compare_load(&mut self, test: Cmp, k: u32, width: Width, offset: u32) {
        self.compare(test, Operand::K(k));
        self.load(width, offset);
    }

    fn check_index(&mut self, base: u32, last: u32) {
        self.write(|code| {
            if base != 0 {
                code.add(T0, A, base.wrapping_neg());
            }
            code.compare(Aarch64::index(base), last);
        });
    }

    fn bit(&mut self, base: u32, mask: u64) {
        self.write(|code| {
            code.set64(T1, mask).put(e::lsr64(T1, T1, Aarch64::index(base)));
            code.put(e::tst_bit0_64(T1));
        });
    }
}
