//! What a release consists of.

use super::crates;
pub(super) use super::part::{Artefact, Part};

/// All parts, in the order in which they are built: an image contains the binary of the command.
pub(super) const PARTS: &[Part] = &[Part {
    name: "crates",
    summary: "packages of all published crates",
    build: crates::build,
    check: crates::check,
}];
