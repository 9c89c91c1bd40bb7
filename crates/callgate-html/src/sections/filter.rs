//! The filter that a section is about.

use callgate::explain::{ArchExplanation, Explanation};

/// A filter, as sections see it.
#[derive(Clone, Copy, Debug)]
pub struct Subject<'a> {
    /// Its name.
    pub name: &'a str,
    /// What it does.
    pub explanation: &'a Explanation,
    /// Whether it compares the architecture.
    pub checks_arch: bool,
}

/// The maximum number of architectures that a section shows in detail.
pub(super) const MAX_ARCHES: usize = 4;

impl<'a> Subject<'a> {
    /// The architectures that sections show in detail, and the names of the others.
    pub(super) fn shown_arches(&self) -> (&'a [ArchExplanation], Vec<&'static str>) {
        let arches = &self.explanation.arches;
        let (shown, others) = arches.split_at_checked(MAX_ARCHES).unwrap_or((arches, &[]));
        (shown, others.iter().map(|other| other.arch.name()).collect())
    }
}

/// A sentence about architectures that a section leaves out.
pub(super) fn left_out(what: &str, others: &[&str]) -> String {
    format!(
        "{what} for {} further architectures are left out: {}.",
        others.len(),
        others.join(", ")
    )
}
