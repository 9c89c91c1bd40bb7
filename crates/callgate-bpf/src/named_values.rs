//! Values of variables by name.

use callgate_core::template::{ValueError, Variable};

use crate::suggest::nearest;
use crate::token::quote;

/// The values in the order of the variables.
///
/// ```
/// use callgate_bpf::values_by_name;
/// use callgate_core::template::Variable;
///
/// let variables = [Variable::u32("fd")?, Variable::u64("limit")?];
/// assert_eq!(values_by_name(&variables, [("limit", 4096), ("fd", 3)])?, [3, 4096]);
/// let unknown = values_by_name(&variables, [("limits", 4096), ("fd", 3)]).unwrap_err();
/// assert!(unknown.to_string().contains("did you mean `limit`"));
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
        let place = place.ok_or_else(|| unknown(variables, name))?;
        if place.replace(value).is_some() {
            return Err(ValueError::new(format!("two values for {}: give one", quote(name))));
        }
    }
    let values = variables.iter().zip(found).map(|(variable, value)| {
        let value =
            value.ok_or_else(|| ValueError::new(format!("`{}` has no value", variable.name())))?;
        variable.check(value).map(|()| value)
    });
    values.collect()
}

/// The error for a name that no variable has.
fn unknown(variables: &[Variable], name: &str) -> ValueError {
    let names: Vec<&str> = variables.iter().map(Variable::name).collect();
    let help = match nearest(name, names.iter().copied()) {
        Some(near) => format!("did you mean `{near}`?"),
        None if names.is_empty() => "the filter has no variables".to_owned(),
        None => {
            let names: Vec<String> = names.iter().map(|name| format!("`{name}`")).collect();
            format!("the filter has {}", names.join(", "))
        }
    };
    ValueError::new(format!("no variable {}; {help}", quote(name)))
}
