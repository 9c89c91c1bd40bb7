//! The views of the page.

mod compare;
mod convert;
mod program;
mod simulate;

use callgate_html::Section;
use callgate_html::sections::{arguments, findings as section, map, summary};

pub(crate) use compare::compare;
pub(crate) use convert::convert;
pub(crate) use program::program;
pub(crate) use simulate::simulate;

use crate::analysis::Analysis;
use crate::figures::Figures;

/// What a view shows.
#[derive(Default)]
pub(crate) struct Shown {
    pub(crate) sections: Vec<Section>,
    /// In a sentence; empty takes the figures of the filter.
    pub(crate) status: String,
    /// What was written: a name for the file, and its content.
    pub(crate) file: Option<(String, String)>,
}

impl Shown {
    pub(crate) fn of(sections: Vec<Section>) -> Shown {
        Shown { sections, ..Shown::default() }
    }
}

/// What the filter does.
pub(crate) fn explanation(analysis: &Analysis<'_>) -> Shown {
    let subject = analysis.subject();
    Shown::of(vec![summary(&subject), map(&subject, None), arguments(&subject)])
}

/// What lint found.
pub(crate) fn findings(figures: &Figures) -> Shown {
    Shown::of(vec![section(&figures.findings)])
}
