//! Variables as a reader finds them.

use super::error::VariableError;
use super::limits::MAX_VARIABLES;
use super::symbol::Symbol;
use super::variable::Variable;

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
