//! Which runs had the values to which a draft limits arguments.

use std::collections::BTreeMap;

use super::draft::Draft;
use super::limitable;
use crate::recording::{Evidence, SyscallStats};

impl Draft {
    /// For each recorded value that a limit allows only because it was recorded: the runs that had it. Values that
    /// differ only in bits that are not compared are one.
    pub(crate) fn limited_values(&self) -> Vec<Evidence> {
        let mut all = Vec::new();
        for (syscall, stats) in self.recorded().syscalls() {
            if let Some(name) = syscall.name() {
                self.limited_values_of(name, stats, &mut all);
            }
        }
        all
    }

    fn limited_values_of(&self, name: &str, stats: &SyscallStats, all: &mut Vec<Evidence>) {
        let Some(grant) = self.grants.get(name).filter(|grant| grant.is_recorded()) else { return };
        for limit in &grant.limits {
            let usual = |value: u64| {
                let mut limitable =
                    limitable::of(name).filter(|limitable| limitable.name == limit.name);
                limitable.any(|one| one.usual.iter().any(|usual| usual & limit.mask == value))
            };
            let mut seen_of: BTreeMap<u64, Evidence> = BTreeMap::new();
            let values = stats.args().get(usize::from(limit.arg));
            for (value, seen) in values.into_iter().flat_map(|values| values.seen()) {
                let all = seen_of.entry(value & limit.mask).or_insert(seen);
                *all = all.unite(seen);
            }
            all.extend(
                seen_of.into_iter().filter(|(value, _)| !usual(*value)).map(|(_, seen)| seen),
            );
        }
    }
}
