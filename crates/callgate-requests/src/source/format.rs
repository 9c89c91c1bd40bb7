//! The formats of sources.

use callgate::formats::{Language, oci};

/// The formats of files, by name.
pub const FORMATS: &[(&str, SourceFormat)] = &[
    ("oci", SourceFormat::Profile(Some(oci::Dialect::Oci))),
    ("docker", SourceFormat::Profile(Some(oci::Dialect::Docker))),
    ("podman", SourceFormat::Profile(Some(oci::Dialect::Podman))),
    ("runc", SourceFormat::Profile(Some(oci::Dialect::Runc))),
    ("crun", SourceFormat::Profile(Some(oci::Dialect::Crun))),
    ("kafel", SourceFormat::Kafel),
    ("firecracker", SourceFormat::Firecracker),
    ("minijail", SourceFormat::Minijail),
    ("lxc", SourceFormat::Lxc),
    ("snap", SourceFormat::Snap),
    ("android", SourceFormat::Android),
    ("bpf", SourceFormat::Program(ProgramForm::Raw)),
    ("bpftext", SourceFormat::Program(ProgramForm::Text)),
    ("socket", SourceFormat::Socket),
];

/// The format of a source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SourceFormat {
    /// A profile of a container runtime, of this dialect or of the one that its keys show.
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
    /// A BPF program.
    Program(ProgramForm),
    /// A socket filter, raw or as text.
    Socket,
}

/// The encoding of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramForm {
    /// `struct sock_filter`, 8 bytes each.
    Raw,
    /// A listing in one of the notations that `callgate asm` reads.
    Text,
}

impl SourceFormat {
    /// The format of files in a language.
    pub(crate) fn of(language: Language) -> SourceFormat {
        match language {
            Language::Kafel => SourceFormat::Kafel,
            Language::Minijail => SourceFormat::Minijail,
            Language::Firecracker => SourceFormat::Firecracker,
            _ => SourceFormat::Profile(None),
        }
    }
}
