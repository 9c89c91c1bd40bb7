//! Comparisons.

use callgate_core::Width;

use super::encode as e;
use super::registers::{A, T0, T1, X, number};
use super::target::Aarch64;
use crate::jit::target::{Compare, Cond, Load};
use callgate_core::{Relation, Source};

impl Compare for Aarch64 {
    fn compare(&mut self, test: Relation, operand: Source) {
        self.write(|code| {
            match (test, operand) {
                (Relation::Shares, Source::K(k)) => code.test(A, k),
                (Relation::Shares, Source::X) => code.put(e::tst(A, X)),
                (_, Source::K(k)) => code.compare(A, k),
                (_, Source::X) => code.put(e::cmp(A, X)),
            };
        });
    }

    /// The machine has no comparison with a memory operand.
    fn can_compare_load(&self, _test: Relation, _width: Width) -> bool {
        false
    }

    fn compare_load(&mut self, test: Relation, k: u32, width: Width, offset: u32) {
        self.compare(test, Source::K(k));
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

    fn bit_within(&mut self, base: u32, mask: u64, last: u32) {
        self.write(|code| {
            code.set64(T1, mask).put(e::lsr64(T1, T1, Aarch64::index(base)));
            code.put(e::csel(T1, T1, e::ZERO, number(Cond::BelowOrEqual)));
            code.put(e::tst_bit0_64(T1));
        });
        self.check_index(base, last);
    }
}
