//! Limits of arguments to recorded values, where these are known and stable.

use super::arg_limit::ArgLimit;
use super::grant::{Grant, UnlimitedArg, times};
use super::limitable::{self, Evidence, LimitableArg};
use super::options::LimitedArgs;
use crate::recording::{ArgValues, Bounds, MAX_VALUES, Recording};
use callgate_core::Arch;

/// How often an argument must have been observed per distinct value, on average, to count as stable if there is only one
/// recording. The count of each value is not recorded.
pub const MIN_PER_VALUE: u64 = 4;

/// Limits the arguments of a recorded syscall.
pub(super) fn limit_args(
    grant: &mut Grant,
    recorded: &Recording,
    arguments: LimitedArgs,
    arches: &[Arch],
) {
    if arguments == LimitedArgs::Off {
        return;
    }
    if grant.name == "clone3" {
        let why = "its flags are in memory, which filters cannot read";
        grant.unlimited.push(UnlimitedArg::new("uargs", why));
    }
    for limitable in limitable::of(grant.name) {
        match recorded_limit(limitable, recorded, arguments, arches) {
            Ok(limit) => grant.limits.push(limit),
            Err(unlimited) => grant.unlimited.push(unlimited),
        }
    }
}

/// The limit of an argument to its recorded values, or why it is not limited.
fn recorded_limit(
    limitable: &LimitableArg,
    recorded: &Recording,
    arguments: LimitedArgs,
    arches: &[Arch],
) -> Result<ArgLimit, UnlimitedArg> {
    let unlimited = |why: String| UnlimitedArg::new(limitable.name, why);
    let Some(position) = limitable.common_position(arches) else {
        let differs = arches.iter().find(|arch| limitable.position(**arch) != Some(limitable.arg));
        let arch = differs.map_or("", |arch| arch.name());
        return Err(unlimited(format!("on {arch} it is a different argument")));
    };
    let index = usize::from(position);
    let (mut all, mut each) = (ArgValues::default(), Vec::new());
    let of_name =
        recorded.syscalls().filter(|(syscall, _)| syscall.name() == Some(limitable.syscall));
    for (syscall, stats) in of_name {
        let Some(values) = stats.known(index) else {
            let why = "its value is not known for all calls".to_owned();
            return Err(UnlimitedArg { lacks_values: true, ..unlimited(why) });
        };
        let values = as_seen_by_filters(values, syscall.arch);
        all.unite(&values);
        each.push((values, stats.runs()));
    }
    let limit = limit_to(limitable, position, &all).ok_or_else(|| {
        unlimited(format!("more than {MAX_VALUES} distinct values were recorded"))
    })?;
    if limitable.needs == Evidence::Stable && arguments != LimitedArgs::All {
        each.iter()
            .try_for_each(|(values, runs)| check_stability(limitable, values, *runs))
            .map_err(unlimited)?;
    }
    Ok(limit)
}

/// Checks whether the values of a syscall on one architecture, in this many runs, are stable; otherwise says why not.
fn check_stability(limitable: &LimitableArg, values: &ArgValues, runs: u64) -> Result<(), String> {
    let mask = limitable.mask();
    if runs > 1 {
        let in_all = |value: u64| {
            let mut same = values.runs().filter(|(other, _)| other & mask == value & mask);
            same.any(|(_, seen)| seen >= runs)
        };
        let same = values.runs().all(|(value, _)| limitable.is_usual(value) || in_all(value));
        return same.then_some(()).ok_or_else(|| "its values differ between recordings".to_owned());
    }
    let mut unusual = values.seen_in_bits(mask);
    unusual.retain(|value, _| !limitable.is_usual(*value));
    let (seen, needed) = (values.observed(), MIN_PER_VALUE.saturating_mul(unusual.len() as u64));
    let too_few = || format!("seen {}; a limit needs at least {needed} observations", times(seen));
    (seen >= needed).then_some(()).ok_or_else(too_few)
}

/// Values as a filter sees them: only the low halves on ABIs with 32-bit registers.
fn as_seen_by_filters(values: &ArgValues, arch: Arch) -> ArgValues {
    const LOW: u64 = u32::MAX as u64;
    match (values.all(), values.bounds()) {
        (Some(_), _) if !arch.has_wide_registers() => ArgValues::from_values_in_runs(
            values.observed(),
            values.seen().map(|(value, seen)| (value & LOW, seen)),
        ),
        (None, Some(Bounds { ever, always, .. })) if !arch.has_wide_registers() => {
            let (ever, always) = (ever & LOW, always & LOW);
            let bounds = Bounds { min: always, max: ever, ever, always };
            ArgValues::from_bounds(values.observed(), bounds)
        }
        _ => values.clone(),
    }
}

/// A limit to these values and those that libraries may use in any run.
pub(super) fn limit_to(limitable: &LimitableArg, arg: u8, values: &ArgValues) -> Option<ArgLimit> {
    let LimitableArg { name, why, .. } = *limitable;
    let mut limit = ArgLimit::of(arg, name, limitable.mask(), why, values)?;
    limit.widen(limitable.usual);
    Some(limit)
}
