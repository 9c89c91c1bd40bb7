//! The format of a source: the `FORMAT:` before it.

use std::ffi::OsStr;

use callgate::formats::oci;

use crate::report::Failure;

/// The format of the filters of a running process.
pub(super) const PROCESS: &str = "pid";

/// The format of units of systemd and of their directives.
pub(super) const UNIT: &str = "systemd";

/// The format of filters of Firecracker, whose name may end with `#` and a thread.
pub(super) const FIRECRACKER: &str = "firecracker";

/// The format of bionic's lists, whose name may end with `#` and a filter.
pub(super) const ANDROID: &str = "android";

/// The format of presets.
pub(super) const PRESET: &str = "preset";

/// The formats of files.
pub(super) const FORMATS: &[(&str, SourceFormat)] = &[
    ("oci", SourceFormat::Profile(Some(oci::Dialect::Oci))),
    ("docker", SourceFormat::Profile(Some(oci::Dialect::Docker))),
    ("podman", SourceFormat::Profile(Some(oci::Dialect::Podman))),
    ("runc", SourceFormat::Profile(Some(oci::Dialect::Runc))),
    ("crun", SourceFormat::Profile(Some(oci::Dialect::Crun))),
    ("kafel", SourceFormat::Kafel),
    (FIRECRACKER, SourceFormat::Firecracker),
    ("minijail", SourceFormat::Minijail),
    ("lxc", SourceFormat::Lxc),
    ("snap", SourceFormat::Snap),
    (ANDROID, SourceFormat::Android),
    ("bpf", SourceFormat::Program(ProgramForm::Raw)),
    ("bpftext", SourceFormat::Program(ProgramForm::Text)),
    ("socket", SourceFormat::Socket),
];

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SourceFormat {
    Profile(Option<oci::Dialect>),
    /// A policy in Kafel's language.
    Kafel,
    /// A document of Firecracker or seccompiler, with one filter.
    Firecracker,
    /// A policy of minijail.
    Minijail,
    /// A profile of LXC.
    Lxc,
    /// A profile of a snap, which is two filters.
    Snap,
    /// A list of syscalls of Android's C library.
    Android,
    Program(ProgramForm),
    /// A socket filter, raw or as text.
    Socket,
}

/// The encoding of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProgramForm {
    Raw,
    Text,
}

/// Whether a prefix can be a format: lower-case letters and digits. Anything else before a colon belongs to the
/// file name.
pub(super) fn is_word(prefix: &str) -> bool {
    !prefix.is_empty() && prefix.bytes().all(|b| b.is_ascii_lowercase() || b.is_ascii_digit())
}

pub(super) fn unknown_format(prefix: &str, text: &OsStr) -> Failure {
    let mut names: Vec<&str> = FORMATS.iter().map(|(name, _)| *name).collect();
    names.extend([UNIT, PRESET, PROCESS]);
    Failure::new(format!("unknown format \"{prefix}\" in the source \"{}\"", text.display())).help(
        format!(
            "the formats are {}; for a file with this name, write ./{}",
            names.join(", "),
            text.display()
        ),
    )
}
