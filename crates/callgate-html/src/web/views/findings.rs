//! What lint found.

use crate::Section;
use crate::sections::findings as section;

use super::shown::Shown;
use crate::web::figures::Figures;
use crate::web::messages;

/// The findings, which are among the figures of the filter, or why it cannot be checked.
pub(crate) fn findings(figures: &Figures) -> Shown {
    match &figures.findings {
        Ok(findings) => Shown::of(vec![section(findings)]),
        Err(errors) => {
            let why = Section::new("findings", "Findings", |body| {
                body.leaf("p", &[], "The filter cannot be checked.");
                body.append(&messages::markup(errors));
            });
            Shown { status: messages::status(errors), ..Shown::of(vec![why]) }
        }
    }
}
