//! What a profile is read for: machine, kernel, capabilities, dialect.

use super::dialect::{Dialect, EnosysAbove};
use crate::arches::host_of;
use crate::capabilities::CapSet;
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::Arch;

/// What a profile is read for.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The dialect. `None` detects it from the keys that only Podman's or Docker's profiles have; without such a
    /// key it is [`Dialect::Runc`], and a document that these programs and crun read differently is an error.
    pub dialect: Option<Dialect>,
    /// The `metadata.name` of the `SeccompProfile` resource that is read. It may be `None` if the text has only one profile.
    pub resource: Option<String>,
    /// How a user chooses the resource with a name, for the help if the text has several.
    pub choosing: fn(&str) -> String,
    /// Exactly these architectures. Empty: the native one and those that the profile adds to it.
    /// If given, the first 64-bit one of them takes the place of `native`, else the first.
    pub arches: Vec<Arch>,
    /// The machine's own architecture, to which `archMap`, `includes` and `excludes` refer.
    pub native: Arch,
    /// The container's capabilities, to which `includes.caps` and `excludes.caps` refer.
    pub caps: CapSet,
    /// The kernel version, to which `minKernel` refers.
    pub kernel: KernelVersion,
    /// Whether syscall numbers above the largest one that the profile names get ENOSYS; `None` takes the default of
    /// the dialect.
    pub enosys_above: Option<EnosysAbove>,
    /// Whether a name that no architecture has is an error instead of a warning.
    pub strict: bool,
    /// Tells the profile from the files of its base profiles, as [`Included::identity`](super::Included::identity); `None`
    /// if it is not known.
    pub identity: Option<String>,
    /// Whether the result has [`statements`](crate::Profile::statements).
    pub statements: bool,
}

impl ReadOptions {
    /// The options for a Docker container on this machine: Docker's default capabilities, and the dialect detected
    /// from the profile.
    pub fn new(native: Arch, kernel: KernelVersion) -> ReadOptions {
        ReadOptions {
            dialect: None,
            resource: None,
            choosing: |name| format!("choose one with the option `resource`, such as \"{name}\""),
            arches: Vec::new(),
            native,
            caps: CapSet::docker(),
            kernel,
            enosys_above: None,
            strict: false,
            identity: None,
            statements: false,
        }
    }

    /// The architecture to which `archMap`, `includes` and `excludes` refer.
    pub(super) fn main_arch(&self) -> Arch {
        host_of(&self.arches).unwrap_or(self.native)
    }
}
