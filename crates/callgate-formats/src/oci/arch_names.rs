//! Names of architectures in Docker's and Podman's additions to the OCI format: Go's names, with exceptions.

use super::dialect::Dialect;
use callgate_core::Arch;

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
