//! An explanation as text.

use callgate::convert::ListForm;
use callgate::explain::{ArchExplanation, RulePlaces as Places, TextOptions};

use super::explained::Explained;
use crate::outcome::paint;
use crate::output;

pub(super) fn text(explained: &Explained<'_>) -> String {
    let first = explained.explanation.arches.first();
    let lengths = first.and_then(list_lengths);
    let libseccomp = if explained.gives_libseccomp { "" } else { ", newest libseccomp" };
    let conditions = explained.conditions.as_ref().map(|given| format!("{given}{libseccomp}"));
    explained.explanation.to_text(&TextOptions {
        order: explained.order,
        width: output::columns(),
        is_partial: !explained.is_whole,
        conditions: conditions.as_deref(),
        assumed: explained.assumed.as_deref(),
        lengths: lengths.as_deref(),
        places: explained.places.as_ref().map(|places| places as &dyn Places),
        paint,
    })
}

/// The lengths of both forms, if the filter is a long list: `309 allowed syscalls, or 79 denied ones`.
pub(crate) fn list_lengths(arch: &ArchExplanation) -> Option<String> {
    let (form, lengths) = ListForm::lengths(arch)?;
    let other = form.other().name();
    Some(format!("{lengths} (callgate convert --list {other} --to LANGUAGE)"))
}
