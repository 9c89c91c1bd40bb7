//! What a profile is read for: dialect, machine, kernel, capabilities.

use crate::arches::host_of;
use crate::capabilities::CapSet;
use crate::libseccomp_versions::LibseccompVersion;
use callgate_bpf::syscalls::KernelVersion;
use callgate_core::Arch;

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
    /// As in runc 1.1.0 to 1.1.2: like [`EnosysAbove::Runc1_1`], but number 0 of s390 and s390x, which the kernel reports for
    /// unknown syscalls, gets what any other number gets.
    Runc1_1_0,
}

/// What a profile is read for.
#[derive(Clone, Debug)]
pub struct ReadOptions {
    /// The dialect. `None` detects it from the keys that only Podman's or Docker's profiles have; without such a
    /// key it is [`Dialect::Runc`], and a document that these programs and crun read differently is an error.
    pub dialect: Option<Dialect>,
    /// The name of the profile that is read: `metadata.name` of a `SeccompProfile` resource, the key of an entry of a ConfigMap, or
    /// the name of a container. It may be `None` if the text has only one profile.
    pub resource: Option<String>,
    /// How a user chooses the profile with a name, for the help if the text has several.
    pub choosing: fn(&str) -> String,
    /// Exactly these architectures. Empty: the native one and those that the profile adds to it.
    /// If given, the first 64-bit one of them takes the place of `native`, else the first.
    pub arches: Vec<Arch>,
    /// The machine's own architecture, to which `archMap`, `includes` and `excludes` refer.
    pub native: Arch,
    /// The container's capabilities, to which `includes.caps` and `excludes.caps` refer.
    pub caps: CapSet,
    /// Whether `caps` are only assumed, so that those of a container that the text describes take their place.
    pub assumes_caps: bool,
    /// The kernel version, to which `minKernel` refers.
    pub kernel: KernelVersion,
    /// Whether syscall numbers above the largest one that the profile names get ENOSYS; `None` takes the default of
    /// the dialect.
    pub enosys_above: Option<EnosysAbove>,
    /// The version of libseccomp that reads the names of syscalls; the newest, which knows all, if absent.
    pub libseccomp: Option<LibseccompVersion>,
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
            assumes_caps: false,
            kernel,
            enosys_above: None,
            libseccomp: None,
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

/// The name of an architecture in `arches`; `None` if no name matches it. Docker has a table from Go's names
/// to its own (`goToNative` in moby's `profiles/seccomp`); Podman uses libseccomp's Go binding.
pub(super) fn name_in(dialect: Dialect, arch: Arch) -> Option<&'static str> {
    match (arch, dialect) {
        (Arch::X86_64, _) => Some("amd64"),
        (Arch::Aarch64, _) => Some("arm64"),
        (Arch::Loongarch64, Dialect::Podman) => Some("loong64"),
        (Arch::Mips, Dialect::Docker) => None,
        (Arch::Mipsel64n32, Dialect::Docker) => Some("mips3l64n32"),
        (other, _) => Some(other.name()),
    }
}

/// Whether a program reads the entry of `archMap` for the native architecture. Docker and Podman first look the
/// architecture up in a table (`nativeToSeccomp`) that does not contain all of them. Docker's table spells LoongArch
/// differently from `goToNative`, so it is never found.
pub(super) fn reads_arch_map(native: Arch, dialect: Dialect) -> bool {
    match dialect {
        Dialect::Podman => matches!(
            native,
            Arch::X86_64
                | Arch::Aarch64
                | Arch::Mips64
                | Arch::Mips64n32
                | Arch::Mipsel64
                | Arch::Mipsel64n32
                | Arch::S390x
        ),
        _ => !matches!(native, Arch::Loongarch64 | Arch::Mips),
    }
}
