//! Stacks of filters as the command shows them.

use callgate_bpf::FilterFlags;
use callgate_core::diagram::{Func, Store};
use callgate_requests::source::{SourceFilter, SourceStack};

use crate::report::{self, Result};

/// Combines the filters of a stack, and prints warnings.
pub(crate) trait Combine {
    /// The MTBDD of the combined verdicts. Warns about flags and listeners, which have effects besides the verdict.
    fn diagram(&self, store: &mut Store) -> Result<Func>;
}

impl Combine for SourceStack {
    fn diagram(&self, store: &mut Store) -> Result<Func> {
        Ok(report::warning(|warnings| self.combined_diagram(store, warnings))?)
    }
}

/// The single filter, or the program to which the filters merge. Warns about flags, which are not part of a program.
pub(super) fn into_filter(stack: SourceStack) -> Result<SourceFilter> {
    let only = stack.filters.len() == 1;
    let filter = stack.into_filter()?;
    let is_installed = !only || filter.given_program().is_some();
    if filter.flags.contains(FilterFlags::LOG) && is_installed {
        report::warn_about(
            &filter.name,
            "this filter is installed with SECCOMP_FILTER_FLAG_LOG, which is not part of a program",
            "install the resulting program with this flag",
        );
    }
    Ok(filter)
}
