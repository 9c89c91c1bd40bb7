//! The rules for one architecture.

use std::collections::BTreeMap;

use callgate::Arch;
use callgate_formats::ruleset::IncrementalRules;

/// The rules for one architecture.
#[derive(Clone, Debug)]
pub(crate) struct ArchFilter {
    pub(crate) rules: IncrementalRules,
    /// The priorities that were set, by syscall number.
    pub(crate) priorities: BTreeMap<i32, u8>,
}

impl ArchFilter {
    pub(super) fn new(arch: Arch) -> ArchFilter {
        ArchFilter { rules: IncrementalRules::new(arch), priorities: BTreeMap::new() }
    }

    pub(crate) fn arch(&self) -> Arch {
        self.rules.arch()
    }
}
