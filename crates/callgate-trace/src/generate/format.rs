//! The formats of generated profiles, and what each can express.

/// A format of profiles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProfileFormat {
    /// JSON for Docker, Podman, runc and other OCI runtimes. It cannot express syscall numbers.
    Oci,
    /// A `SeccompProfile` resource of the Security Profiles Operator in YAML. It cannot express syscall numbers, values
    /// from 2⁶³ and an errno of the default action, so that syscalls without a name get EPERM.
    Kubernetes,
    /// Lines for a systemd unit. It cannot express syscall numbers, and limits arguments by separate directives.
    Systemd,
    /// A Kafel policy for nsjail, for one architecture.
    Kafel,
}

impl ProfileFormat {
    /// Whether it can grant a syscall by its number.
    pub(crate) fn has_numbers(self) -> bool {
        self == ProfileFormat::Kafel
    }

    /// Whether its lists of syscalls can limit arguments.
    pub fn has_arguments(self) -> bool {
        self != ProfileFormat::Systemd
    }
}
