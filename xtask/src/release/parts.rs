//! What a release consists of.

pub(super) use super::part::{Artefact, Part};
use super::{c, command, drop_in, image};

/// All parts, in the order in which they are built: an image contains the binary of the command.
pub(super) const PARTS: &[Part] = &[
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
];
