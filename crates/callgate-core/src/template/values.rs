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

/// The values in the order of the variables.
///
/// ```
/// use callgate_core::template::{Variable, values_by_name};
///
/// let variables = [Variable::u32("fd")?, Variable::u64("limit")?];
/// assert_eq!(values_by_name(&variables, [("limit", 4096), ("fd", 3)])?, [3, 4096]);
/// let unknown = values_by_name(&variables, [("limits", 4096), ("fd", 3)]).unwrap_err();
/// assert!(unknown.to_string().contains("the filter has `fd`, `limit`"));
/// assert!(values_by_name(&variables, [("fd", 3)]).is_err(), "limit has no value");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If a name is not that of a variable, or a variable has no value or two, or a value does not fit.
pub fn values_by_name<'n>(
    variables: &[Variable],
    named: impl IntoIterator<Item = (&'n str, u64)>,
) -> Result<Vec<u64>, ValueError> {
    let mut found: Vec<Option<u64>> = vec![None; variables.len()];
    for (name, value) in named {
        let index = variables.iter().position(|variable| variable.name() == name);
        let place = index.and_then(|index| found.get_mut(index));
        let place = place.ok_or_else(|| ValueError::unknown(&names(variables), name))?;
        if place.replace(value).is_some() {
            return Err(ValueError::twice(name));
        }
    }
    let values = variables.iter().zip(found).map(|(variable, value)| {
        let value = value.ok_or_else(|| ValueError::missing(variable.name()))?;
        variable.check(value).map(|()| value)
    });
    values.collect()
}

fn names(variables: &[Variable]) -> Vec<&str> {
    variables.iter().map(Variable::name).collect()
}
