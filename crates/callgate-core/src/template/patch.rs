//! Places in a program that depend on variables.

use super::symbol::{Half, Symbol};

/// An instruction whose constant depends on a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Patch {
    /// The index of the instruction.
    pub insn: usize,
    /// The value that it compares with.
    pub symbol: Symbol,
    /// The half of the value that becomes the constant.
    pub half: Half,
}

impl Patch {
    /// The constant of the instruction if the variables have these values. A variable without a value counts as 0.
    pub fn constant(&self, values: &[u64]) -> u32 {
        self.half.of(self.symbol.value_in(values))
    }
}
