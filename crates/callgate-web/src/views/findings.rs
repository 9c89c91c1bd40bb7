//! What lint found.

use callgate_html::sections::findings as section;

use super::shown::Shown;
use crate::figures::Figures;

/// The findings, which are among the figures of the filter.
pub(crate) fn findings(figures: &Figures) -> Shown {
    Shown::of(vec![section(&figures.findings)])
}
