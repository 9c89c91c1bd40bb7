//! Tests of the arguments of a syscall, or of the members of an io_uring request: comparisons with constants, with variables, and
//! of two arguments.

use crate::io_uring::{Member, MemberPlace};
use crate::template::Symbol;
use crate::{Endian, FilterInput, Layout, Word};

/// The operand of a test: an argument or the instruction pointer, all 64 bits or the low 32; or a member of an io_uring
/// request. It belongs to one [`Layout`]: a policy for another refuses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(try_from = "super::serialize::FieldForm"))]
pub struct Field {
    layout: Layout,
    low: Word,
    /// 8, 32 or 64.
    bits: u8,
    /// The number of bits of the low word below the field.
    shift: u8,
}

impl Field {
    /// All 64 bits of an argument; `None` if the index exceeds 5.
    pub const fn arg(index: u8) -> Option<Field> {
        match Word::arg_low(index) {
            Some(low) => Some(Field::of_syscall(low, 64)),
            None => None,
        }
    }

    /// The low 32 bits of an argument; `None` if the index exceeds 5.
    pub const fn arg_low(index: u8) -> Option<Field> {
        match Word::arg_low(index) {
            Some(low) => Some(Field::of_syscall(low, 32)),
            None => None,
        }
    }

    /// The instruction pointer, 64 bits.
    pub const fn instruction_pointer() -> Field {
        Field::of_syscall(Word::IP_LOW, 64)
    }

    const fn of_syscall(low: Word, bits: u8) -> Field {
        Field { layout: Layout::Seccomp, low, bits, shift: 0 }
    }

    /// A member of an io_uring request on machines of this byte order.
    pub const fn of_request(member: Member, endian: Endian) -> Field {
        let MemberPlace { low, shift, bits } = member.place(endian);
        Field { layout: Layout::IoUring(endian), low, bits, shift }
    }

    /// The layout of the structure with the operand.
    pub const fn layout(self) -> Layout {
        self.layout
    }

    /// The low 32 bits of the same operand.
    #[must_use]
    pub const fn low32(self) -> Field {
        Field { bits: if self.bits > 32 { 32 } else { self.bits }, ..self }
    }

    /// The number of bits: 8, 32 or 64.
    pub const fn bits(self) -> u32 {
        self.bits as u32
    }

    /// The number of bits of the low word below the field.
    pub(crate) const fn shift(self) -> u32 {
        self.shift as u32
    }

    /// The word of the low half.
    pub const fn low_word(self) -> Word {
        self.low
    }

    /// The word of the high half; `None` for a field of at most 32 bits.
    pub const fn high_word(self) -> Option<Word> {
        if self.bits == 64 { Word::from_index(self.low.index() - 1) } else { None }
    }

    /// A mask of all bits of the field.
    pub const fn full_mask(self) -> u64 {
        u64::MAX >> (64 - self.bits)
    }

    /// The value of the field in an input of its layout.
    pub fn value<D: FilterInput>(self, data: &D) -> u64 {
        let endian = match self.layout {
            Layout::Seccomp | Layout::Packet => Endian::NATIVE,
            Layout::IoUring(endian) => endian,
        };
        let high = self.high_word().map_or(0, |word| data.get(word, endian));
        let low = data.get(self.low, endian) >> self.shift;
        (u64::from(high) << 32 | u64::from(low)) & self.full_mask()
    }
}

/// An unsigned comparison.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
#[allow(missing_docs)]
pub enum Cmp {
    Eq,
    Ne,
    Lt,
    Le,
    Gt,
    Ge,
}

impl Cmp {
    /// The comparison that holds exactly when this one does not.
    #[must_use]
    pub const fn negated(self) -> Cmp {
        match self {
            Cmp::Eq => Cmp::Ne,
            Cmp::Ne => Cmp::Eq,
            Cmp::Lt => Cmp::Ge,
            Cmp::Ge => Cmp::Lt,
            Cmp::Le => Cmp::Gt,
            Cmp::Gt => Cmp::Le,
        }
    }
}

/// One comparison: `(field & mask) cmp value`, unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Test {
    /// The left operand.
    pub field: Field,
    /// The bits that are compared.
    pub mask: u64,
    /// The relation.
    pub cmp: Cmp,
    /// The right operand.
    pub value: u64,
}

impl Test {
    /// `field cmp value` on all bits of the field.
    pub const fn new(field: Field, cmp: Cmp, value: u64) -> Test {
        Test { field, mask: field.full_mask(), cmp, value }
    }

    /// `field == value`.
    pub const fn eq(field: Field, value: u64) -> Test {
        Test::new(field, Cmp::Eq, value)
    }

    /// `(field & mask) == value`. It never holds if `value` has bits outside `mask`.
    pub const fn masked_eq(field: Field, mask: u64, value: u64) -> Test {
        Test { field, mask: mask & field.full_mask(), cmp: Cmp::Eq, value }
    }

    /// Whether it holds for a syscall, or another input of the layout of its field.
    pub fn holds<D: FilterInput>(&self, data: &D) -> bool {
        let given = self.field.value(data) & self.mask;
        match self.cmp {
            Cmp::Eq => given == self.value,
            Cmp::Ne => given != self.value,
            Cmp::Lt => given < self.value,
            Cmp::Le => given <= self.value,
            Cmp::Gt => given > self.value,
            Cmp::Ge => given >= self.value,
        }
    }

    /// The test that holds exactly when this one does not.
    #[must_use]
    pub const fn negated(self) -> Test {
        Test { cmp: self.cmp.negated(), ..self }
    }
}

/// The relation between a field and a variable, or another field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(feature = "serde", serde(rename_all = "lowercase"))]
pub enum VariableRelation {
    /// An unsigned comparison.
    Cmp(Cmp),
    /// They share a bit: `field & other != 0`.
    AnyBit,
    /// They share no bit: `field & other == 0`.
    NoBit,
}

impl VariableRelation {
    /// The test of these bits of a field, if the right operand has this value.
    const fn given(self, field: Field, mask: u64, value: u64) -> Test {
        match self {
            VariableRelation::Cmp(cmp) => Test { field, mask, cmp, value },
            VariableRelation::AnyBit => Test { field, mask: mask & value, cmp: Cmp::Ne, value: 0 },
            VariableRelation::NoBit => Test { field, mask: mask & value, cmp: Cmp::Eq, value: 0 },
        }
    }

    /// The relation that holds exactly when this one does not.
    #[must_use]
    pub const fn negated(self) -> VariableRelation {
        match self {
            VariableRelation::Cmp(cmp) => VariableRelation::Cmp(cmp.negated()),
            VariableRelation::AnyBit => VariableRelation::NoBit,
            VariableRelation::NoBit => VariableRelation::AnyBit,
        }
    }
}

/// A comparison of two fields of a syscall, unsigned. A field of 32 bits is the low half of a number of 64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct FieldTest {
    /// The left operand.
    pub left: Field,
    /// The relation.
    pub relation: VariableRelation,
    /// The right operand.
    pub right: Field,
}

impl FieldTest {
    /// Whether it holds for a syscall.
    pub fn holds<D: FilterInput>(&self, data: &D) -> bool {
        let (left, right) = (self.left, self.right.value(data));
        self.relation.given(left, left.full_mask(), right).holds(data)
    }

    /// The test that holds exactly when this one does not.
    #[must_use]
    pub const fn negated(self) -> FieldTest {
        FieldTest { relation: self.relation.negated(), ..self }
    }
}

/// A comparison with a variable: `(field & mask) relation symbol`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VariableTest {
    /// The left operand.
    pub field: Field,
    /// The bits that are compared.
    pub mask: u64,
    /// The relation.
    pub relation: VariableRelation,
    /// The right operand.
    pub symbol: Symbol,
}

impl VariableTest {
    /// `field relation symbol` on all bits of the field.
    pub const fn new(field: Field, relation: VariableRelation, symbol: Symbol) -> VariableTest {
        VariableTest { field, mask: field.full_mask(), relation, symbol }
    }

    /// The same test on these bits only.
    #[must_use]
    pub const fn masked(self, mask: u64) -> VariableTest {
        VariableTest { mask: self.mask & mask, ..self }
    }

    /// The test when the variables have these values; a variable without a value counts as 0.
    pub fn given(&self, values: &[u64]) -> Test {
        self.relation.given(self.field, self.mask, self.symbol.value_in(values))
    }

    /// Whether it holds for a syscall when the variables have these values.
    pub fn holds<D: FilterInput>(&self, data: &D, values: &[u64]) -> bool {
        self.given(values).holds(data)
    }

    /// The test that holds exactly when this one does not.
    #[must_use]
    pub const fn negated(self) -> VariableTest {
        VariableTest { relation: self.relation.negated(), ..self }
    }
}
