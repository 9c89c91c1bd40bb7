//! What a machine must be able to write; [`super::lower`] says what is written.
//!
//! Everything is written in front of what is there already: see [`super::buffer`]. A method writes
//! the machine instructions for one step in their proper order.

use callgate::bpf::Width;

use super::buffer::Pos;
use super::node::{Alu, Ask, Operand, Reg, Test};

/// A condition after a comparison ([`Target::compare`], [`Target::compare_load`],
/// [`Target::check_index`]) or after [`Target::bit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cond {
    /// Equal; after [`Test::Set`]: no bit in common.
    Eq,
    /// Not equal; after [`Test::Set`]: a bit in common.
    Ne,
    Above,
    NotAbove,
    /// Above or equal.
    From,
    Below,
    /// After [`Target::bit`]: the bit is set.
    Bit,
    NoBit,
}

impl Cond {
    /// When a test holds.
    pub(super) fn of(test: Test) -> Cond {
        match test {
            Test::Eq => Cond::Eq,
            Test::Gt => Cond::Above,
            Test::Ge => Cond::From,
            Test::Set => Cond::Ne,
        }
    }

    /// The opposite.
    pub(super) fn not(self) -> Cond {
        match self {
            Cond::Eq => Cond::Ne,
            Cond::Ne => Cond::Eq,
            Cond::Above => Cond::NotAbove,
            Cond::NotAbove => Cond::Above,
            Cond::From => Cond::Below,
            Cond::Below => Cond::From,
            Cond::Bit => Cond::NoBit,
            Cond::NoBit => Cond::Bit,
        }
    }
}

/// What a program needs besides its registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Needs {
    /// It reads a packet, in network order; otherwise a call, in the order of the machine.
    pub(super) packet: bool,
    /// It asks [`super::outside`].
    pub(super) outside: bool,
    /// Bit k: it uses scratch word k.
    pub(super) scratch: u16,
}

/// Writes code for one machine.
pub(super) trait Target {
    /// Starts with nothing written, for a program of so many instructions.
    fn new(needs: Needs, insns: usize) -> Self;

    /// Where what is written begins.
    fn here(&self) -> Pos;
    /// What is written.
    fn code(&self) -> &[u8];
    /// How far a jump reaches.
    const REACH: u32;

    /// Room for words of data; the place of the first.
    fn data(&mut self, words: usize) -> Pos;
    /// Writes word `index` of the data at `at`.
    fn set_data(&mut self, at: Pos, index: usize, word: u32);

    /// The routine that [`Target::outside`] calls; its place.
    fn outside_routine(&mut self) -> Pos;
    /// At the very beginning: these registers are 0.
    fn entry(&mut self, zero: &[Reg]);

    fn jump(&mut self, to: Pos);
    fn branch(&mut self, when: Cond, to: Pos);
    fn ret(&mut self);
    fn ret_constant(&mut self, value: u32);
    /// Returns one of two values, without a jump.
    fn ret_select(&mut self, when: Cond, yes: u32, no: u32);

    /// Compares A.
    fn compare(&mut self, test: Test, operand: Operand);
    /// Whether [`Target::compare_load`] can do this.
    fn can_compare_load(&self, test: Test, width: Width) -> bool;
    /// Compares what a load yields; A is lost.
    fn compare_load(&mut self, test: Test, k: u32, width: Width, offset: u32);
    /// Compares A - `base`, which becomes the index, with `last`; the index is between them unless the
    /// condition [`Cond::Above`] holds.
    fn check_index(&mut self, base: u32, last: u32);
    /// Looks at the bit of a mask with the index.
    fn bit(&mut self, base: u32, mask: u64);
    /// Returns the word of a table with the index.
    fn ret_table(&mut self, base: u32, table: Pos);
    /// Jumps by the distance from the table that stands in the table at the index.
    fn jump_table(&mut self, base: u32, table: Pos);

    fn constant(&mut self, reg: Reg, k: u32);
    fn length(&mut self, reg: Reg);
    fn load(&mut self, width: Width, offset: u32);
    /// To `short` with packets of fewer bytes.
    fn check(&mut self, bytes: u32, short: Pos);
    fn header_length(&mut self, offset: u32);
    /// With `near`, X + `offset` is known to be below 2^31; otherwise `routine` is there to be asked.
    fn indexed(&mut self, width: Width, offset: u32, routine: Option<Pos>, short: Pos);
    fn outside(&mut self, ask: Ask, offset: u32, routine: Pos, short: Pos);
    fn fetch(&mut self, reg: Reg, index: u8);
    fn store(&mut self, reg: Reg, index: u8);
    /// Division by a zero X goes to `zero`; a constant is not 0.
    fn alu(&mut self, alu: Alu, operand: Operand, zero: Pos);
    fn negate(&mut self);
    /// X = A.
    fn tax(&mut self);
    /// A = X.
    fn txa(&mut self);
}
