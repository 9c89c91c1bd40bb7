//! Comparisons with variables.

use crate::FilterInput;
use crate::template::Symbol;

use super::comparison::{Cmp, Field, Test};

/// The relation between a field and a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum VariableRelation {
    /// An unsigned comparison.
    Cmp(Cmp),
    /// They share a bit: `field & symbol != 0`.
    AnyBit,
    /// They share no bit: `field & symbol == 0`.
    NoBit,
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
        let (field, value) = (self.field, self.symbol.value_in(values));
        match self.relation {
            VariableRelation::Cmp(cmp) => Test { field, mask: self.mask, cmp, value },
            VariableRelation::AnyBit => {
                Test { field, mask: self.mask & value, cmp: Cmp::Ne, value: 0 }
            }
            VariableRelation::NoBit => {
                Test { field, mask: self.mask & value, cmp: Cmp::Eq, value: 0 }
            }
        }
    }

    /// Whether it holds for a syscall when the variables have these values.
    pub fn holds<D: FilterInput>(&self, data: &D, values: &[u64]) -> bool {
        self.given(values).holds(data)
    }

    /// The test that holds exactly when this one does not.
    #[must_use]
    pub const fn negated(self) -> VariableTest {
        let relation = match self.relation {
            VariableRelation::Cmp(cmp) => VariableRelation::Cmp(cmp.negated()),
            VariableRelation::AnyBit => VariableRelation::NoBit,
            VariableRelation::NoBit => VariableRelation::AnyBit,
        };
        VariableTest { relation, ..self }
    }
}
