//! What a release consists of.

pub(super) use super::part::{Artefact, Part};
use super::sbom;

/// All parts, in the order in which they are built: an image contains the binary of the command, and the last part describes the
/// files of the others.
pub(super) const PARTS: &[Part] = &[Part {
    name: "sbom",
    summary: "bills of materials (CycloneDX) of all other files",
    build: sbom::build,
    check: sbom::check,
}];
