//! Tests of the arguments of a syscall: comparisons with constants.

use callgate_bpf::data::{SeccompData, Word};

/// The operand of a test: an argument or the instruction pointer, all 64 bits or the low 32.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(try_from = "super::serialize::FieldForm", into = "super::serialize::FieldForm")
)]
pub struct Field {
    low: Word,
    wide: bool,
}

impl Field {
    /// All 64 bits of an argument; `None` if the index exceeds 5.
    pub const fn arg(index: u8) -> Option<Field> {
        match Word::arg_low(index) {
            Some(low) => Some(Field { low, wide: true }),
            None => None,
        }
    }

    /// The low 32 bits of an argument; `None` if the index exceeds 5.
    pub const fn arg_low(index: u8) -> Option<Field> {
        match Word::arg_low(index) {
            Some(low) => Some(Field { low, wide: false }),
            None => None,
        }
    }

    /// The instruction pointer, 64 bits.
    pub const fn instruction_pointer() -> Field {
        Field { low: Word::IP_LOW, wide: true }
    }

    /// The low 32 bits of the same operand.
    #[must_use]
    pub const fn low32(self) -> Field {
        Field { low: self.low, wide: false }
    }

    /// The word of the low half.
    pub const fn low_word(self) -> Word {
        self.low
    }

    /// The word of the high half; `None` for a field of 32 bits.
    pub const fn high_word(self) -> Option<Word> {
        if self.wide { Word::from_index(self.low.index() - 1) } else { None }
    }

    /// A mask of all bits of the field.
    pub const fn full_mask(self) -> u64 {
        if self.wide { u64::MAX } else { u32::MAX as u64 }
    }

    /// The value of the field in a syscall.
    pub fn value(self, data: &SeccompData) -> u64 {
        let high = self.high_word().map_or(0, |word| data.word(word));
        u64::from(high) << 32 | u64::from(data.word(self.low))
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

    /// Whether it holds for a syscall.
    pub fn holds(&self, data: &SeccompData) -> bool {
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
