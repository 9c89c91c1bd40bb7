//! What the registers hold, and the numbers of registers, widths and conditions in instructions.

use callgate_core::Width;

use super::encode as e;
use crate::jit::node::Reg;
use crate::jit::target::Cond;

pub(super) const INPUT: e::Reg = 0;
pub(super) const LENGTH: e::Reg = 1;
pub(super) const CONTEXT: e::Reg = 2;
pub(super) const A: e::Reg = 3;
pub(super) const X: e::Reg = 4;
pub(super) const T0: e::Reg = 5;
pub(super) const T1: e::Reg = 6;
pub(super) const T2: e::Reg = 7;
pub(super) const SCRATCH: e::Reg = 8;
pub(super) const SCRATCH_VECTOR: u32 = 16;
pub(super) const IN_REGISTERS: u8 = 8;
pub(super) const LINK: e::Reg = 30;

/// Signed conditions, for answers from outside and for offsets.
pub(super) const GE: u32 = 10;
pub(super) const LT: u32 = 11;

pub(super) fn size(width: Width) -> u32 {
    match width {
        Width::Byte => 0,
        Width::Half => 1,
        Width::Word => 2,
    }
}

pub(super) fn number(when: Cond) -> u32 {
    match when {
        Cond::Eq | Cond::BitClear => 0,
        Cond::Ne | Cond::BitSet => 1,
        Cond::AboveOrEqual => 2,
        Cond::Below => 3,
        Cond::Above => 8,
        Cond::BelowOrEqual => 9,
    }
}

pub(super) fn register(reg: Reg) -> e::Reg {
    match reg {
        Reg::A => A,
        Reg::X => X,
    }
}
