//! Dialects: how each container runtime reads the same profile.

/// The program, or specification, as which a profile is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Dialect {
    /// The text of the OCI runtime specification.
    Oci,
    /// Docker: the profile format of moby, run by runc.
    Docker,
    /// Podman: the profile format of containers/common.
    Podman,
    /// runc, given an OCI configuration.
    Runc,
    /// crun, given an OCI configuration.
    Crun,
}

impl Dialect {
    /// All dialects.
    pub const ALL: [Dialect; 5] =
        [Dialect::Oci, Dialect::Docker, Dialect::Podman, Dialect::Runc, Dialect::Crun];

    /// The name, as on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Dialect::Oci => "oci",
            Dialect::Docker => "docker",
            Dialect::Podman => "podman",
            Dialect::Runc => "runc",
            Dialect::Crun => "crun",
        }
    }

    /// The dialect with this name.
    pub fn from_name(name: &str) -> Option<Dialect> {
        Dialect::ALL.into_iter().find(|dialect| dialect.name() == name)
    }

    /// Whether the profile format has the keys that Docker added to the OCI format.
    pub(super) const fn has_gates(self) -> bool {
        matches!(self, Dialect::Docker | Dialect::Podman)
    }

    /// Whether syscall numbers above the largest one named get ENOSYS by default.
    pub(super) const fn enosys_above(self) -> EnosysAbove {
        match self {
            Dialect::Docker | Dialect::Runc => EnosysAbove::On,
            Dialect::Oci | Dialect::Podman | Dialect::Crun => EnosysAbove::Off,
        }
    }
}

impl std::fmt::Display for Dialect {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

/// Whether syscall numbers above the largest one that the profile names get ENOSYS. runc adds this check in front
/// of a filter, unless the default action is ALLOW, LOG or TRACE.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum EnosysAbove {
    /// No: they get what any other unnamed number gets, as with crun.
    Off,
    /// On each architecture of the filter, as in runc 1.1.15 and 1.2 to 1.5.
    On,
    /// Only on the architectures that the profile lists, as in runc 1.1.3 to 1.1.14. A profile that lists none
    /// does not get the check.
    Runc1_1,
}
