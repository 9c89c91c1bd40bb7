//! Warnings about many recordings, which often have the same ones.

use std::collections::HashSet;

use callgate::diagnostic::Diagnostic;

use crate::report;

/// How many different warnings are printed.
const MAX_PRINTED: usize = 20;

/// Prints each warning once.
#[derive(Default)]
pub(super) struct Warnings {
    printed: HashSet<String>,
    /// How many were not printed.
    omitted: u64,
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

    /// Says how many warnings were not printed.
    pub(super) fn finish(&self) {
        if self.omitted > 0 {
            let message = format!("warnings that are not shown: {}", self.omitted);
            report::warn(message, "they are like those above, or follow them");
        }
    }
}
