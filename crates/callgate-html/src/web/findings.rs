//! The findings of lint, for the section about them.

use crate::sections::Finding;
use callgate::lint::Level;
use callgate_requests::lint::{Choice, Report};
use callgate_requests::source::{Messages, SourceText, Stack};

/// What `callgate lint` finds with notes. `warnings` are those of the reader.
pub(crate) fn findings(
    source: &SourceText,
    stack: &Stack,
    warnings: &Messages,
) -> Result<Vec<Finding>, Messages> {
    let choice = Choice { level: Level::Note, ..Choice::default() };
    let report = Report::of_stack(source, stack, warnings, &choice)?;
    let shown = report.findings.iter().map(|found| {
        Finding::new(found, report.title(found), report.place(found), &Report::examples(found))
    });
    Ok(shown.collect())
}
