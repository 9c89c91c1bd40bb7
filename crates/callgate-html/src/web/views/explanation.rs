//! What the filter does.

use crate::sections::{arguments, map, summary};

use super::shown::Shown;
use crate::web::analysis::Analysis;

/// The summary, the map and the conditions.
pub(crate) fn explanation(analysis: &Analysis<'_>) -> Shown {
    let subject = analysis.subject();
    Shown::of(vec![summary(&subject), map(&subject, None), arguments(&subject)])
}
