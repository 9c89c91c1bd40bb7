//! What a machine must be able to write; [`super::lower`] says what is written.
//!
//! What a machine can be told is one trait for each kind of step; [`Target`] is all of them.
//!
//! Everything is written in front of what is there already: see [`super::buffer`]. A method writes
//! the machine instructions for one step in their proper order.

use callgate_bpf::Width;

use super::buffer::{Buffer, Pos};
use super::node::{Ask, Reg};
use callgate_bpf::{Alu, Relation, Source};

/// A condition after a comparison ([`Compare::compare`], [`Compare::compare_load`],
/// [`Compare::check_index`]) or after [`Compare::bit`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Cond {
    /// Equal; after [`Relation::Shares`]: no bit in common.
    Eq,
    /// Not equal; after [`Relation::Shares`]: a bit in common.
    Ne,
    Above,
    NotAbove,
    /// Above or equal.
    From,
    Below,
    /// After [`Compare::bit`]: the bit is set.
    Bit,
    NoBit,
}

impl Cond {
    /// When a test holds.
    pub(super) fn of(test: Relation) -> Cond {
        match test {
            Relation::Equal => Cond::Eq,
            Relation::Greater => Cond::Above,
            Relation::AtLeast => Cond::From,
            Relation::Shares => Cond::Ne,
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

/// Where a program goes on, and where it ends.
pub(super) trait Control {
    fn jump(&mut self, to: Pos);
    fn branch(&mut self, when: Cond, to: Pos);
    fn ret(&mut self);
    fn ret_constant(&mut self, value: u32);
    /// Returns one of two values, without a jump.
    fn ret_select(&mut self, when: Cond, yes: u32, no: u32);
    /// Returns the word of a table with the index.
    fn ret_table(&mut self, base: u32, table: Pos);
    /// The same, but for one word goes on there, where the index is still known.
    fn ret_table_unless(&mut self, base: u32, table: Pos, word: u32, to: Pos);
    /// Jumps by the distance from the table that stands in the table at the index.
    fn jump_table(&mut self, base: u32, table: Pos);
}

/// What a condition is about.
pub(super) trait Compare {
    /// Compares A.
    fn compare(&mut self, test: Relation, operand: Source);
    /// Whether [`Compare::compare_load`] can do this, and comparing bytes in the order of the packet is
    /// worth it.
    fn can_compare_load(&self, test: Relation, width: Width) -> bool;
    /// Compares what a load yields; A is lost.
    fn compare_load(&mut self, test: Relation, k: u32, width: Width, offset: u32);
    /// Compares A - `base`, which becomes the index, with `last`; the index is between them unless the
    /// condition [`Cond::Above`] holds.
    fn check_index(&mut self, base: u32, last: u32);
    /// Looks at the bit of a mask with the index.
    fn bit(&mut self, base: u32, mask: u64);
}

/// What comes from the input, and from beside it.
pub(super) trait Load {
    /// The routine that [`Load::outside`] calls; its place.
    fn outside_routine(&mut self) -> Pos;
    fn length(&mut self, reg: Reg);
    fn load(&mut self, width: Width, offset: u32);
    /// To `short` with packets of fewer bytes.
    fn check(&mut self, bytes: u32, short: Pos);
    fn header_length(&mut self, offset: u32);
    /// Without a `routine` to be asked, X + `offset` is known to be below 2^31; then the bytes may stay
    /// in the order of the packet (`as_is`).
    fn indexed(&mut self, width: Width, offset: u32, as_is: bool, routine: Option<Pos>, short: Pos);
    fn outside(&mut self, ask: Ask, offset: u32, routine: Pos, short: Pos);
}

/// What touches registers and scratch words alone.
pub(super) trait Compute {
    fn constant(&mut self, reg: Reg, k: u32);
    fn fetch(&mut self, reg: Reg, index: u8);
    fn store(&mut self, reg: Reg, index: u8);
    /// Division by a zero X goes to `zero`; a constant is not 0.
    fn alu(&mut self, alu: Alu, operand: Source, zero: Pos);
    fn negate(&mut self);
    /// X = A.
    fn tax(&mut self);
    /// A = X.
    fn txa(&mut self);
}

/// Writes code for one machine.
pub(super) trait Target: Control + Compare + Load + Compute {
    /// How far a jump reaches.
    const REACH: u32;

    /// Starts with nothing written, for a program of so many instructions.
    fn new(needs: Needs, insns: usize) -> Self;

    /// What is written.
    fn buffer(&self) -> &Buffer;
    fn buffer_mut(&mut self) -> &mut Buffer;

    /// At the very beginning: these registers are 0.
    fn entry(&mut self, zero: &[Reg]);

    /// Where what is written begins.
    fn here(&self) -> Pos {
        self.buffer().here()
    }

    /// The code that is written.
    fn code(&self) -> &[u8] {
        self.buffer().code()
    }

    /// Room for words of data; the place of the first.
    fn data(&mut self, words: usize) -> Pos {
        self.buffer_mut().prepend(&vec![0; 4 * words]);
        self.here()
    }

    /// Writes word `index` of the data at `at`.
    fn set_data(&mut self, at: Pos, index: usize, word: u32) {
        self.buffer_mut().overwrite(Pos(at.0 - 4 * index as u32), &word.to_le_bytes());
    }
}
