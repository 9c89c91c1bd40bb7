//! Values of an argument that only one of two versions used.

use std::collections::BTreeMap;

use super::model::Changed;
use crate::generate::limitable::{self, LimitableArg};
use crate::recording::{ArgValues, Bounds, Evidence, SyscallId, SyscallStats};

/// The values of one argument that both sides know.
pub(super) struct ComparedValues {
    /// How many were compared.
    pub(super) compared: usize,
    /// Values of one side only, with the numbers of runs that had them: old, new. `None`: not known.
    pub(super) changed: Vec<(Changed, Option<[u64; 2]>)>,
}

/// Compares the arguments of a syscall that generated profiles limit.
pub(super) fn compare(
    syscall: SyscallId,
    old: &SyscallStats,
    new: &SyscallStats,
) -> Vec<ComparedValues> {
    let Some(name) = syscall.name() else { return Vec::new() };
    let values = |limitable: &'static LimitableArg| {
        let position = limitable.position(syscall.arch)?;
        let arg = usize::from(position);
        let known = |stats: &SyscallStats| stats.is_known(arg);
        let [old, new] = [old, new].map(|stats| stats.args().get(arg).filter(|_| known(stats)));
        compare_values(limitable, position, old?, new?)
    };
    limitable::of(name).filter_map(values).collect()
}

fn compare_values(
    limitable: &'static LimitableArg,
    arg: u8,
    old: &ArgValues,
    new: &ArgValues,
) -> Option<ComparedValues> {
    let (name, mask) = (limitable.name, limitable.mask());
    let [seen_old, seen_new] = [old, new].map(|values| seen(values, limitable));
    let changed = match (old.all(), new.all()) {
        (None, None) => return None,
        // At least one of the values is not among the old ones.
        (Some(_), None) => vec![(Changed::ManyValues { arg, name }, None)],
        (_, Some(_)) => {
            let bounds = old.bounds().filter(|_| old.all().is_none());
            let within = |value: u64| bounds.is_some_and(|bounds| is_within(value, bounds, mask));
            let runs = |seen: &BTreeMap<u64, Evidence>, value: u64| {
                seen.get(&value).map_or(0, Evidence::runs)
            };
            let mut all: Vec<u64> = seen_old.keys().chain(seen_new.keys()).copied().collect();
            all.sort_unstable();
            all.dedup();
            let change = |value: u64| {
                let is_one_sided = seen_old.contains_key(&value) != seen_new.contains_key(&value);
                (is_one_sided && !within(value)).then(|| {
                    let what = Changed::Value { arg, name, mask, value };
                    (what, Some([runs(&seen_old, value), runs(&seen_new, value)]))
                })
            };
            all.into_iter().filter_map(change).collect()
        }
    };
    let compared = seen_old.keys().filter(|value| !seen_new.contains_key(value)).count();
    Some(ComparedValues { compared: compared + seen_new.len(), changed })
}

/// Whether a value of the compared bits may be one of those that are not listed.
fn is_within(value: u64, bounds: Bounds, mask: u64) -> bool {
    let always = bounds.always & mask;
    let in_range = bounds.ever & !mask != 0 || (bounds.min..=bounds.max).contains(&value);
    value & !bounds.ever == 0 && value & always == always && in_range
}

/// The values that profiles do not always allow, as they compare them, with the runs that had them.
fn seen(values: &ArgValues, limitable: &LimitableArg) -> BTreeMap<u64, Evidence> {
    let mask = limitable.mask();
    let usual = |value: u64| limitable.usual.iter().any(|usual| usual & mask == value);
    let mut all: BTreeMap<u64, Evidence> = BTreeMap::new();
    for (value, seen) in values.seen().map(|(value, seen)| (value & mask, seen)) {
        if !usual(value) {
            let of = all.entry(value).or_insert(seen);
            *of = of.unite(seen);
        }
    }
    all
}
