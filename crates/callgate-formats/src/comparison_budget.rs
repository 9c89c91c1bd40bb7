//! The limit on the comparisons of policies that are read line by line.

use crate::syntax::reader::Reader;

/// The maximum number of comparisons, counted for each architecture.
const MAX_COMPARISONS: usize = 150_000;

/// Counts the comparisons of rules. A rule without comparisons counts as one.
#[derive(Debug, Default)]
pub(crate) struct ComparisonBudget(usize);

impl ComparisonBudget {
    /// Counts the comparisons of a rule for each of these architectures. `None` after the limit was reported.
    pub(crate) fn spend(
        &mut self,
        reader: &mut Reader<'_>,
        comparisons: usize,
        arches: usize,
        at: usize,
    ) -> Option<()> {
        self.0 = self.0.saturating_add(comparisons.max(1).saturating_mul(arches));
        if self.0 <= MAX_COMPARISONS {
            return Some(());
        }
        let message = format!(
            "the rules up to this line have more than {MAX_COMPARISONS} comparisons, the limit; each counts on {arches} \
             architectures"
        );
        reader.error(at, message).help =
            "compare with ranges or bits instead of single values".to_owned();
        None
    }
}
