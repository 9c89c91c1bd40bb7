//! What a release consists of.

pub(super) use super::part::{Artefact, Part};

use super::{c, command, crates, drop_in, go, image, npm, python, sbom};

/// All parts, in the order in which they are built: an image contains the binary of the command, and the last part describes the
/// files of the others.
pub(super) const PARTS: &[Part] = &[
    Part {
        name: "crates",
        summary: "packages of all published crates",
        build: crates::build,
        check: crates::check,
    },
    Part {
        name: "command",
        summary: "the command: static binaries with man pages and completions, Debian packages",
        build: command::build,
        check: command::check,
    },
    Part {
        name: "image",
        summary: "the command as an image for containers",
        build: image::build,
        check: image::check,
    },
    Part {
        name: "c",
        summary: "libcallgate for C and C++: archives, Debian packages",
        build: c::build,
        check: c::check,
    },
    Part {
        name: "drop-in",
        summary: "libseccomp.so.2 in place of libseccomp: Debian packages",
        build: drop_in::build,
        check: drop_in::check,
    },
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
    Part {
        name: "go",
        summary: "the Go module as files of a module proxy, and the commit of its tag",
        build: go::build,
        check: go::check,
    },
    Part {
        name: "sbom",
        summary: "bills of materials (CycloneDX) of all other files",
        build: sbom::build,
        check: sbom::check,
    },
];
