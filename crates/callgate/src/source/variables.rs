//! Values of the variables of policies.

use callgate_bpf::values_by_name;
use callgate_core::policy::Policy;
use callgate_core::template::ValueError;

use super::value::Value;

/// The policy without variables, whose values are these.
///
/// # Errors
/// As [`values_of`].
pub fn given<'n>(
    policy: &Policy,
    values: impl IntoIterator<Item = (&'n str, Value)>,
) -> Result<Policy, ValueError> {
    policy.given(&values_of(policy, values)?)
}

/// The values of the variables of a policy, in their order. A negative value has the width of its variable.
///
/// # Errors
/// If the names are not those of the variables, or a value does not fit.
pub fn values_of<'n>(
    policy: &Policy,
    values: impl IntoIterator<Item = (&'n str, Value)>,
) -> Result<Vec<u64>, ValueError> {
    let fitting = |(name, value): (&'n str, Value)| {
        let variable = policy.variables().iter().find(|one| one.name() == name);
        let is_narrow = variable.is_some_and(|variable| !variable.is_wide());
        let narrow = value.narrow().filter(|_| is_narrow && value.is_negative());
        (name, narrow.map_or(value.bits(), u64::from))
    };
    values_by_name(policy.variables(), values.into_iter().map(fitting))
}
