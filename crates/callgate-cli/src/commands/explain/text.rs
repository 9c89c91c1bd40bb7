//! An explanation as text.

use callgate::explain::{RulePlaces as Places, TextOptions};

use super::explained::Explained;
use crate::outcome::paint;
use crate::{list_form, output};

pub(super) fn text(explained: &Explained<'_>) -> String {
    let first = explained.explanation.arches.first();
    let lengths = first.and_then(list_form::lengths);
    explained.explanation.to_text(&TextOptions {
        order: explained.order,
        width: output::columns(),
        is_partial: !explained.is_whole,
        conditions: explained.conditions.as_deref(),
        lengths: lengths.as_deref(),
        places: explained.places.as_ref().map(|places| places as &dyn Places),
        paint,
    })
}
