//! What a release consists of.

pub(super) use super::part::{Artefact, Part};
use super::{go, npm, python};

/// All parts, in the order in which they are built: an image contains the binary of the command.
pub(super) const PARTS: &[Part] = &[
    go::PART,
    Part {
        name: "python",
        summary: "wheels for glibc and musl, and the source distribution",
        build: python::build,
        check: python::check,
    },
    Part {
        name: "npm",
        summary: "the package for JavaScript",
        build: npm::build,
        check: npm::check,
    },
];
