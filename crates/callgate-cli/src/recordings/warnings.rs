//! Warnings about many recordings, which often have the same ones.

use std::collections::HashSet;

use callgate_bpf::diagnostic::{Diagnostic, Severity};

use crate::report;

/// How many different warnings are printed, and how many recordings that are skipped.
const MAX_PRINTED: usize = 20;

/// Prints each warning once, and each recording that is skipped, up to a limit.
#[derive(Default)]
pub(super) struct Warnings {
    printed: HashSet<String>,
    /// How many warnings were not printed.
    omitted: u64,
    skipped: usize,
}

impl Warnings {
    /// Prints those warnings about an input that were not printed about another one.
    pub(super) fn print(&mut self, origin: &str, warnings: impl IntoIterator<Item = Diagnostic>) {
        for warning in warnings {
            if self.printed.len() < MAX_PRINTED && !self.printed.contains(&warning.message) {
                self.printed.insert(warning.message.clone());
                report::warn_all(origin, &[warning]);
            } else {
                self.omitted += 1;
            }
        }
    }

    /// Prints why a recording is skipped.
    pub(super) fn skipped(&mut self, origin: &str, error: Diagnostic) {
        self.skipped += 1;
        if self.skipped <= MAX_PRINTED {
            let message = format!("{}; this recording is skipped", error.message);
            report::warn_all(
                origin,
                &[Diagnostic { severity: Severity::Warning, message, ..error }],
            );
        }
    }

    /// Says how many warnings were not printed.
    pub(super) fn finish(&self) {
        if self.omitted > 0 {
            let message = format!("{} more warnings are not shown", self.omitted);
            report::warn(message, "the same warnings about other recordings, or later ones");
        }
        if let Some(more @ 1..) = self.skipped.checked_sub(MAX_PRINTED) {
            report::warn(
                format!("{more} more recordings are skipped"),
                "merge without --partial to see the first error",
            );
        }
    }
}
