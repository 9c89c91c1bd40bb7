//! What registers and the stack hold, and the numbers of conditions in instructions.

use super::encode::{Gpr, RAX, RCX};
use crate::jit::node::Reg;
use crate::jit::target::Cond;

pub(super) const A: Gpr = RAX;
pub(super) const X: Gpr = RCX;

/// Offsets from the stack pointer; while the stub runs, a return address is at -8.
pub(super) const CONTEXT: i32 = -16;
pub(super) const SAVED_A: i32 = -20;
pub(super) const FIRST_SCRATCH: i32 = -24;

/// The size of the stub's frame: more than the red zone and the registers it saves, and a multiple of 16
/// with both return addresses.
pub(super) const FRAME: i32 = 0xb0;

/// Where a scratch word is.
#[derive(Clone, Copy, Debug)]
pub(super) enum Scratch {
    Register(Gpr),
    Stack(i32),
}

pub(super) fn register(reg: Reg) -> Gpr {
    match reg {
        Reg::A => A,
        Reg::X => X,
    }
}

/// The number of a condition.
pub(super) fn number(when: Cond) -> u8 {
    match when {
        Cond::Eq => 0x4,
        Cond::Ne => 0x5,
        Cond::Above => 0x7,
        Cond::BelowOrEqual => 0x6,
        Cond::AboveOrEqual | Cond::BitClear => 0x3,
        Cond::Below | Cond::BitSet => 0x2,
    }
}
