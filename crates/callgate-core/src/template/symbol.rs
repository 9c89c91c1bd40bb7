//! What a variable is compared as: its value, with a constant added, or its complement; and where in a program.

use super::error::{MAX_VARIABLES, VariableError};
use super::variable::Variable;

/// A 64-bit value that depends on a variable: `variable + addend`, or its complement `!(variable + addend)`, modulo
/// 2^64.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Symbol {
    variable: u8,
    addend: u64,
    complement: bool,
}

/// A half of a 64-bit value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[allow(missing_docs)]
pub enum Half {
    Low,
    High,
}

impl Half {
    /// This half of a value.
    pub const fn of(self, value: u64) -> u32 {
        match self {
            Half::Low => value as u32,
            Half::High => (value >> 32) as u32,
        }
    }
}

impl Symbol {
    /// The value of the variable with this index.
    pub const fn new(index: u8) -> Symbol {
        Symbol { variable: index, addend: 0, complement: false }
    }

    /// The same value plus a constant, modulo 2^64.
    #[must_use]
    pub const fn plus(self, constant: u64) -> Symbol {
        // The complement of x is -x - 1, so adding a constant to it subtracts the constant from x.
        let addend = match self.complement {
            false => self.addend.wrapping_add(constant),
            true => self.addend.wrapping_sub(constant),
        };
        Symbol { addend, ..self }
    }

    /// The complement: all 64 bits inverted.
    #[must_use]
    pub const fn complement(self) -> Symbol {
        Symbol { complement: !self.complement, ..self }
    }

    /// The same value of the variable of another symbol.
    #[must_use]
    pub const fn of_same_variable(self, other: Symbol) -> Symbol {
        Symbol { variable: other.variable, ..self }
    }

    /// The index of the variable.
    pub const fn variable(self) -> usize {
        self.variable as usize
    }

    /// The constant that is added to the variable, modulo 2^64.
    pub const fn addend(self) -> u64 {
        self.addend
    }

    /// Whether the sum is complemented.
    pub const fn is_complement(self) -> bool {
        self.complement
    }

    /// The value if the variable has this value.
    pub const fn value(self, variable: u64) -> u64 {
        let sum = variable.wrapping_add(self.addend);
        if self.complement { !sum } else { sum }
    }

    /// The value if the variables have these values. A variable without a value counts as 0.
    pub fn value_in(self, values: &[u64]) -> u64 {
        self.value(values.get(self.variable()).copied().unwrap_or(0))
    }

    /// The half, if it is the same for all values of this variable: the high half of a variable of 32 bits to which
    /// nothing is added.
    pub const fn constant_half(self, half: Half, variable: &Variable) -> Option<u32> {
        match half {
            Half::High if !variable.is_wide() && self.addend == 0 => Some(half.of(self.value(0))),
            _ => None,
        }
    }
}

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

/// The variables of a policy, in the order in which they occur. A variable has 64 bits if it is compared with a value of
/// 64 bits, and 32 otherwise.
#[derive(Clone, Debug, Default)]
pub struct VariableList(Vec<Variable>);

impl VariableList {
    /// The symbol of a name.
    ///
    /// # Errors
    /// If the name is not an identifier, or there are more than [`MAX_VARIABLES`].
    pub fn symbol(&mut self, name: &str) -> Result<Symbol, VariableError> {
        if let Some(index) = self.0.iter().position(|variable| variable.name() == name) {
            return Ok(Symbol::new(index as u8));
        }
        if self.0.len() == MAX_VARIABLES {
            return Err(VariableError::too_many());
        }
        self.0.push(Variable::u32(name)?);
        Ok(Symbol::new((self.0.len() - 1) as u8))
    }

    /// The variable of a symbol is compared with a value of 64 bits.
    pub fn widen(&mut self, symbol: Symbol) {
        if let Some(variable) = self.0.get_mut(symbol.variable()) {
            variable.widen();
        }
    }

    /// The variables; symbols refer to them by index.
    pub fn into_variables(self) -> Vec<Variable> {
        self.0
    }
}
