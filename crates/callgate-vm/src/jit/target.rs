//! The interface of a target machine, which [`super::lower`] uses.
//!
//! Code is prepended to the code generated so far (see [`super::buffer`]). A method emits the machine
//! instructions of one operation, in execution order.

use super::buffer::{Buffer, Pos};
use super::node::{Reg, Request};
use callgate_core::{Alu, Relation, Source, Width};

/// A condition, after a comparison ([`Target::compare`], [`Target::compare_load`],
/// [`Target::check_index`]) or after [`Target::bit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cond {
    /// Equal; after [`Relation::Shares`]: no common bit.
    Eq,
    /// Not equal; after [`Relation::Shares`]: a common bit.
    Ne,
    Above,
    BelowOrEqual,
    AboveOrEqual,
    Below,
    /// After [`Target::bit`]: the bit is set.
    BitSet,
    BitClear,
}

impl Cond {
    /// The condition under which a relation holds.
    pub(super) fn of(test: Relation) -> Cond {
        match test {
            Relation::Equal => Cond::Eq,
            Relation::Greater => Cond::Above,
            Relation::AtLeast => Cond::AboveOrEqual,
            Relation::Shares => Cond::Ne,
        }
    }

    /// The opposite.
    pub(super) fn not(self) -> Cond {
        match self {
            Cond::Eq => Cond::Ne,
            Cond::Ne => Cond::Eq,
            Cond::Above => Cond::BelowOrEqual,
            Cond::BelowOrEqual => Cond::Above,
            Cond::AboveOrEqual => Cond::Below,
            Cond::Below => Cond::AboveOrEqual,
            Cond::BitSet => Cond::BitClear,
            Cond::BitClear => Cond::BitSet,
        }
    }
}

/// What a program uses besides its registers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Needs {
    /// The input is a packet, in network byte order; otherwise `seccomp_data`, in native byte order.
    pub(super) packet: bool,
    /// It calls [`super::helper`].
    pub(super) helper: bool,
    /// A mask of the scratch words that it uses.
    pub(super) scratch: u16,
}

/// A code generator for one machine.
pub(super) trait Target: Sized {
    /// The largest displacement of a jump.
    const REACH: u32;

    /// An empty generator for a program of `insns` instructions.
    fn new(needs: Needs, insns: usize) -> Self;

    /// The code generated so far.
    fn buffer(&self) -> &Buffer;
    fn buffer_mut(&mut self) -> &mut Buffer;

    /// The function's entry: sets these registers to 0.
    fn entry(&mut self, zero: &[Reg]);

    /// The start of the code generated so far.
    fn here(&self) -> Pos {
        self.buffer().here()
    }

    /// The bytes of the code.
    fn code(&self) -> &[u8] {
        self.buffer().code()
    }

    /// Reserves words of data; returns the place of the first.
    fn data(&mut self, words: usize) -> Pos {
        self.buffer_mut().prepend(&vec![0; 4 * words]);
        self.here()
    }

    /// Writes word `index` of the data at `at`.
    fn set_data(&mut self, at: Pos, index: usize, word: u32) {
        self.buffer_mut().overwrite(Pos(at.0 - 4 * index as u32), &word.to_le_bytes());
    }

    // Jumps and returns.

    fn jump(&mut self, to: Pos);
    fn branch(&mut self, when: Cond, to: Pos);
    fn ret(&mut self);
    fn ret_constant(&mut self, value: u32);
    /// Returns one of two values, without a jump.
    fn ret_select(&mut self, when: Cond, yes: u32, no: u32);
    /// Begins a choice of what to return, without jumps: this value, unless a later [`Target::choose`] takes another. X
    /// and scratch words are lost.
    fn choice(&mut self, value: u32);
    /// Takes this value under the condition.
    fn choose(&mut self, when: Cond, value: u32);
    /// Returns the value that was taken.
    fn ret_chosen(&mut self);
    /// Returns the word of a table at the index.
    fn ret_table(&mut self, base: u32, table: Pos);
    /// Returns the word of a table at the index, unless it is `word`: then jumps to `to`, with the index
    /// intact.
    fn ret_table_unless(&mut self, base: u32, table: Pos, word: u32, to: Pos);
    /// Jumps to the displacement, relative to the table, in a table at the index.
    fn jump_table(&mut self, base: u32, table: Pos);

    // Comparisons.

    /// Compares A.
    fn compare(&mut self, test: Relation, operand: Source);
    /// Whether [`Target::compare_load`] supports this, and comparing without a byte swap pays off.
    fn can_compare_load(&self, test: Relation, width: Width) -> bool;
    /// Compares the value of a load; clobbers A.
    fn compare_load(&mut self, test: Relation, k: u32, width: Width, offset: u32);
    /// Compares the index A - `base` with `last`; it is out of range if [`Cond::Above`] holds.
    fn check_index(&mut self, base: u32, last: u32);
    /// Tests the bit of a mask at the index.
    fn bit(&mut self, base: u32, mask: u64);
    /// The same, where the bits above `last` are clear: the index may be any. Scratch words are lost.
    fn bit_within(&mut self, base: u32, mask: u64, last: u32);

    // Loads from the input, and calls of the helper.

    /// Emits the stub for [`Target::call_helper`]; returns its place.
    fn helper_stub(&mut self) -> Pos;
    fn length(&mut self, reg: Reg);
    fn load(&mut self, width: Width, offset: u32);
    /// Jumps to `short` if the packet has fewer bytes.
    fn check(&mut self, bytes: u32, short: Pos);
    fn header_length(&mut self, offset: u32);
    /// Without a `stub`, X + `offset` is below 2^31; then `as_is` leaves out the byte swap.
    fn indexed(&mut self, width: Width, offset: u32, as_is: bool, stub: Option<Pos>, short: Pos);
    fn call_helper(&mut self, request: Request, offset: u32, stub: Pos, short: Pos);

    // Operations on registers and scratch words.

    fn constant(&mut self, reg: Reg, k: u32);
    fn fetch(&mut self, reg: Reg, index: u8);
    fn store(&mut self, reg: Reg, index: u8);
    /// Jumps to `zero` for a division by an X of 0. A constant divisor is not 0.
    fn alu(&mut self, alu: Alu, operand: Source, zero: Pos);
    fn negate(&mut self);
    /// X = A.
    fn tax(&mut self);
    /// A = X.
    fn txa(&mut self);
}
