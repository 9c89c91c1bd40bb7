//! Declarations of variables, and their values.

use super::error::{MAX_NAME, ValueError, VariableError};

/// A value that is known only when a filter is installed: its name, and whether it has 32 or 64 bits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Variable {
    name: String,
    wide: bool,
}

impl Variable {
    /// A variable of 32 bits.
    ///
    /// # Errors
    /// If the name is not an identifier of at most [`MAX_NAME`] letters, digits and underscores.
    pub fn u32(name: impl Into<String>) -> Result<Variable, VariableError> {
        Variable::new(name.into(), false)
    }

    /// A variable of 64 bits.
    ///
    /// # Errors
    /// As [`Variable::u32`].
    pub fn u64(name: impl Into<String>) -> Result<Variable, VariableError> {
        Variable::new(name.into(), true)
    }

    fn new(name: String, wide: bool) -> Result<Variable, VariableError> {
        let is_start = |c: char| c.is_ascii_alphabetic() || c == '_';
        let is_word =
            name.starts_with(is_start) && name.chars().all(|c| is_start(c) || c.is_ascii_digit());
        match is_word && name.len() <= MAX_NAME {
            true => Ok(Variable { name, wide }),
            false => Err(VariableError::name(&name)),
        }
    }

    pub(super) fn widen(&mut self) {
        self.wide = true;
    }

    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether it has 64 bits.
    pub const fn is_wide(&self) -> bool {
        self.wide
    }

    /// The number of bits: 32 or 64.
    pub const fn bits(&self) -> u32 {
        if self.wide { 64 } else { 32 }
    }

    /// The largest value.
    pub const fn max(&self) -> u64 {
        if self.wide { u64::MAX } else { u32::MAX as u64 }
    }

    /// Checks that a value fits.
    ///
    /// # Errors
    /// If it is greater than [`Variable::max`].
    pub fn check(&self, value: u64) -> Result<(), ValueError> {
        if value <= self.max() {
            Ok(())
        } else {
            Err(ValueError::too_large(&self.name, self.bits(), value))
        }
    }
}

/// Checks that there is one value for each variable, and that it fits.
///
/// # Errors
/// Otherwise.
pub fn check_values(variables: &[Variable], values: &[u64]) -> Result<(), ValueError> {
    if values.len() != variables.len() {
        let names: Vec<&str> = variables.iter().map(Variable::name).collect();
        return Err(ValueError::count(&names, values.len()));
    }
    variables.iter().zip(values).try_for_each(|(variable, value)| variable.check(*value))
}
