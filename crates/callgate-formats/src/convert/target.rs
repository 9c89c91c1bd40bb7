//! Target languages.

use std::fmt;

use crate::oci::Dialect;

/// A language in which a policy can be written.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Target {
    /// `linux.seccomp` of the OCI runtime specification.
    Oci,
    /// A profile for Docker, which runc installs.
    Docker,
    /// A profile for Podman, which crun installs.
    Podman,
    /// A drop-in for a unit of systemd.
    Systemd,
    /// A Kafel policy for nsjail.
    Kafel,
    /// A policy for minijail.
    Minijail,
    /// A filter for Firecracker and the crate `seccompiler`.
    Firecracker,
    /// A profile for containers of LXC.
    Lxc,
    /// A profile for a snap, as snapd gives it to snap-seccomp.
    Snap,
    /// A `SeccompProfile` resource for the Security Profiles Operator of Kubernetes.
    Kubernetes,
}

impl Target {
    /// All targets.
    pub const ALL: [Target; 10] = [
        Target::Oci,
        Target::Docker,
        Target::Podman,
        Target::Systemd,
        Target::Kafel,
        Target::Minijail,
        Target::Firecracker,
        Target::Lxc,
        Target::Snap,
        Target::Kubernetes,
    ];

    /// The name, as on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Target::Oci => "oci",
            Target::Docker => "docker",
            Target::Podman => "podman",
            Target::Systemd => "systemd",
            Target::Kafel => "kafel",
            Target::Minijail => "minijail",
            Target::Firecracker => "firecracker",
            Target::Lxc => "lxc",
            Target::Snap => "snap",
            Target::Kubernetes => "k8s",
        }
    }

    /// The target with this name. `kubernetes` is another name of `k8s`.
    pub fn from_name(name: &str) -> Option<Target> {
        let name = if name == "kubernetes" { Target::Kubernetes.name() } else { name };
        Target::ALL.into_iter().find(|target| target.name() == name)
    }

    /// Whether a policy also names its architectures, the flags for `seccomp(2)`, and the listener.
    pub(crate) const fn is_profile(self) -> bool {
        self.dialect().is_some() || matches!(self, Target::Kubernetes)
    }

    /// The dialect of a container profile.
    pub(crate) const fn dialect(self) -> Option<Dialect> {
        match self {
            Target::Oci => Some(Dialect::Oci),
            Target::Docker => Some(Dialect::Docker),
            Target::Podman => Some(Dialect::Podman),
            _ => None,
        }
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}
