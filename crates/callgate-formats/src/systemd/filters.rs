//! The result: the filters of a unit.

use super::directive::Directive;
use crate::files::FileMessage;
use crate::statements::Statements;
use callgate_core::policy::Policy;
use callgate_core::{Arch, SeccompData, Verdict};

/// The filters that systemd installs for the processes of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitFilters {
    /// The filters, in the order of installation. There may be none.
    pub filters: Vec<UnitFilter>,
    /// Warnings: parts that systemd ignores, or that may not mean what was intended.
    pub warnings: Vec<FileMessage>,
}

/// A filter of a unit.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnitFilter {
    /// The directive that installs it.
    pub directive: Directive,
    /// The architecture whose syscalls it is for; all others are allowed. `None` for the filter of
    /// `SystemCallArchitectures=`.
    pub arch: Option<Arch>,
    /// What it does.
    pub policy: Policy,
    /// The rules as the unit states them, if the options ask for them. Those of all directives but the lists of syscalls have
    /// the place of the last line with the directive.
    pub statements: Option<Statements>,
}

impl UnitFilters {
    /// The verdict of all filters for a syscall, as the kernel combines them; ALLOW without filters.
    pub fn evaluate(&self, data: &SeccompData) -> Verdict {
        Verdict::of_stack(self.filters.iter().rev().map(|filter| filter.policy.evaluate(data)))
    }
}
