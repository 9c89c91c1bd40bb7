//! Values of variables.

use super::error::ValueError;
use super::variable::Variable;

/// Checks that there is one value for each variable, and that it fits.
///
/// # Errors
/// Otherwise.
pub fn check_values(variables: &[Variable], values: &[u64]) -> Result<(), ValueError> {
    if values.len() != variables.len() {
        return Err(ValueError::count(&names(variables), values.len()));
    }
    variables.iter().zip(values).try_for_each(|(variable, value)| variable.check(*value))
}

fn names(variables: &[Variable]) -> Vec<&str> {
    variables.iter().map(Variable::name).collect()
}
