//! What a view shows.

use crate::Section;

/// The result of a view.
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
