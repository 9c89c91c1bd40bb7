//! What a release consists of.

pub(super) use super::part::{Artefact, Part};

use super::{c, command, crates, drop_in, go, image, npm, python, sbom};

/// All parts, in the order in which they are built: an image contains the binary of the command, and the last part describes the
/// files of the others.
pub(super) const PARTS: &[Part] = &[
    Part {
        name: "crates",
        summary: "packages of all published crates",
        needs: &["git"],
        checks_need: &[],
        build: crates::build,
        check: crates::check,
    },
    Part {
        name: "command",
        summary: "the command and callgate-check: static binaries with man pages and completions, Debian packages",
        needs: &["coqc", "dpkg-deb", "ocamlfind", "qemu-x86_64", "qemu-aarch64"],
        checks_need: &["chroot", "lintian", "mmdebstrap", "unshare"],
        build: command::build,
        check: command::check,
    },
    Part {
        name: "image",
        summary: "the command as an image for containers",
        needs: &["buildah", "qemu-x86_64", "qemu-aarch64"],
        checks_need: &["podman", "runc"],
        build: image::build,
        check: image::check,
    },
    Part {
        name: "c",
        summary: "libcallgate for C and C++: archives, Debian packages",
        needs: &["dpkg-deb", "x86_64-linux-gnu-gcc", "aarch64-linux-gnu-gcc"],
        checks_need: &[
            "chroot",
            "lintian",
            "mmdebstrap",
            "pkg-config",
            "qemu-x86_64",
            "qemu-aarch64",
            "unshare",
        ],
        build: c::build,
        check: c::check,
    },
    Part {
        name: "drop-in",
        summary: "libseccomp.so.2 in place of libseccomp: Debian packages",
        needs: &["dpkg-deb", "x86_64-linux-gnu-gcc", "aarch64-linux-gnu-gcc"],
        checks_need: &["lintian", "mmdebstrap", "unshare"],
        build: drop_in::build,
        check: drop_in::check,
    },
    Part {
        name: "python",
        summary: "wheels for glibc and musl, and the source distribution",
        needs: &["python3"],
        checks_need: &["apt-get", "make", "musl-gcc", "nm", "qemu-x86_64", "qemu-aarch64", "unzip"],
        build: python::build,
        check: python::check,
    },
    Part {
        name: "npm",
        summary: "the package for JavaScript",
        needs: &["npm", "npx"],
        checks_need: &["chromium", "node"],
        build: npm::build,
        check: npm::check,
    },
    Part {
        name: "go",
        summary: "the Go module as files of a module proxy, and the commit of its tag",
        needs: &["git", "go"],
        checks_need: &[],
        build: go::build,
        check: go::check,
    },
    Part {
        name: "sbom",
        summary: "bills of materials (CycloneDX) of all other files",
        needs: &["jq", "sha256sum"],
        checks_need: &["python3"],
        build: sbom::build,
        check: sbom::check,
    },
];
