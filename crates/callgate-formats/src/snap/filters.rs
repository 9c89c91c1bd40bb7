//! The filters of a profile.

use callgate_bpf::diagnostic::Diagnostic;
use callgate_core::policy::Policy;
use callgate_core::{SeccompData, Verdict};

use crate::statements::Statements;

/// The filters that snap-confine installs for a profile, and the warnings about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SnapFilters {
    /// The filter of the rules with `~`, which is installed first.
    pub deny: Policy,
    /// The filter of the other rules.
    pub allow: Policy,
    /// Warnings, in the order of the text.
    pub warnings: Vec<Diagnostic>,
    /// The rules of `deny` and of `allow` as the text states them, if the options ask for them.
    pub statements: Option<[Statements; 2]>,
}

impl SnapFilters {
    /// The verdict of both filters.
    pub fn evaluate(&self, data: &SeccompData) -> Verdict {
        self.allow.evaluate(data).or_higher_precedence(self.deny.evaluate(data))
    }
}
