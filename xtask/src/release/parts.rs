//! What a release consists of.

use super::go;
pub(super) use super::part::{Artefact, Part};

/// All parts, in the order in which they are built: an image contains the binary of the command.
pub(super) const PARTS: &[Part] = &[Part {
    name: "go",
    summary: "the Go module as files of a module proxy, and the commit of its tag",
    build: go::build,
    check: go::check,
}];
