//! The findings of lint.

use callgate::lint::{self, Level};
use callgate_html::Section;
use callgate_html::sections::{self, Finding};
use callgate_requests::lint::{Choice, Report};

use crate::advice;
use crate::commands::lint::report_of;
use crate::report::Result;
use crate::source::{LoadedSource, SourceStack};

/// The section with what `callgate lint` finds in a source that was read into this stack, with notes.
pub(super) fn findings(loaded: &LoadedSource, stack: &SourceStack) -> Result<Section> {
    let report = report_of(loaded, stack, &Choice { level: Level::Note, ..Choice::default() })?;
    let found = report.findings.iter().map(|found| {
        let worded = lint::Finding { help: advice::of(&found.help).into(), ..found.clone() };
        Finding::new(&worded, report.title(found), report.place(found), &Report::examples(found))
    });
    Ok(sections::findings(&found.collect::<Vec<_>>()))
}
