//! Names of syscalls, constants and architectures.

use callgate_bpf::syscalls::known_name;
use callgate_bpf::{SyscallTable, constants};
use callgate_core::{Arch, errno_number};

/// The architectures of minijail, with its names for them.
pub(super) const ARCHES: [(&str, Arch); 6] = [
    ("x86_64", Arch::X86_64),
    ("x86", Arch::X86),
    ("arm64", Arch::Aarch64),
    ("arm", Arch::Arm),
    ("riscv64", Arch::Riscv64),
    ("loong64", Arch::Loongarch64),
];

/// minijail's name of an architecture.
pub(super) fn arch_name(arch: Arch) -> Option<&'static str> {
    ARCHES.iter().find(|(_, of)| *of == arch).map(|(name, _)| *name)
}

/// The number of a syscall, and its name in the kernel's table. minijail takes the names from the kernel's headers, which
/// mark those that only arm has.
pub(super) fn syscall(arch: Arch, name: &str) -> Option<(u32, &'static str)> {
    let own = name.strip_prefix("ARM_").filter(|_| arch == Arch::Arm).unwrap_or(name);
    Some((arch.number(own)?, known_name(own)?))
}

/// Names that only the C library has, and the kernel's names for the same values.
const ALIASES: [(&str, &str); 6] = [
    ("MAP_ANON", "MAP_ANONYMOUS"),
    ("O_FSYNC", "O_SYNC"),
    ("O_RSYNC", "O_SYNC"),
    ("S_IEXEC", "S_IXUSR"),
    ("S_IREAD", "S_IRUSR"),
    ("S_IWRITE", "S_IWUSR"),
];

/// The value of a constant or an errno.
pub(super) fn constant(arch: Arch, name: &str) -> Option<u64> {
    let alias = ALIASES.iter().find(|(alias, _)| *alias == name).map(|(_, name)| *name);
    constants::value(arch, alias.unwrap_or(name)).or_else(|| errno_number(name).map(u64::from))
}
