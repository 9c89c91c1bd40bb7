//! Hosts of containers, and whose interpretation of a profile applies.

use crate::document::{Fields, Style};
use crate::machine::Machine;

/// Whose interpretation of a profile applies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
#[expect(missing_docs, reason = "the names of the dialects")]
pub enum Dialect {
    Oci,
    Docker,
    Podman,
    Runc,
    Crun,
}

impl Dialect {
    /// All of them.
    pub const ALL: [Dialect; 5] =
        [Dialect::Oci, Dialect::Docker, Dialect::Podman, Dialect::Runc, Dialect::Crun];

    /// The name.
    pub fn name(self) -> &'static str {
        match self {
            Dialect::Oci => "oci",
            Dialect::Docker => "docker",
            Dialect::Podman => "podman",
            Dialect::Runc => "runc",
            Dialect::Crun => "crun",
        }
    }

    /// Whether runc builds the filter.
    pub(super) fn is_runc(self) -> bool {
        matches!(self, Dialect::Runc | Dialect::Docker)
    }

    /// Whether crun builds the filter by default.
    pub(super) fn is_crun(self) -> bool {
        matches!(self, Dialect::Crun | Dialect::Podman)
    }

    pub(super) fn style(self) -> (Style, Fields) {
        match self {
            Dialect::Oci => (Style::Schema, Fields::Oci),
            Dialect::Docker => (Style::Go, Fields::Docker),
            Dialect::Podman => (Style::Go, Fields::Podman),
            Dialect::Runc => (Style::Go, Fields::Oci),
            Dialect::Crun => (Style::Yajl, Fields::Oci),
        }
    }
}

/// The host of a container.
#[derive(Clone, Debug, PartialEq)]
pub struct Host {
    /// Whose interpretation applies.
    pub dialect: Dialect,
    /// The native architecture.
    pub native: Machine,
    /// The capabilities of the container.
    pub caps: Vec<&'static str>,
    /// The kernel's version, its first two numbers.
    pub kernel: (u16, u16),
    /// The version of runc, if runc builds the filter.
    pub runc: Runc,
}

/// Versions of runc, which differ in the architectures for which they prepend code to the filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runc {
    /// 1.1.3 to 1.1.14: those that the profile lists.
    Listed,
    /// 1.1.15, and 1.2 to 1.5: all those of the filter.
    All,
}
