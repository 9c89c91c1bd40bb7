//! Architectures as systemd names them, those of one build of systemd, and constants that depend on them.

use super::groups::SystemdVersion;
use callgate_core::Arch;

/// Names in `SystemCallArchitectures=` (`seccomp_arch_from_string` in `seccomp-util.c`), besides `native`.
const NAMES: &[(&str, Arch)] = &[
    ("x86", Arch::X86),
    ("x86-64", Arch::X86_64),
    ("x32", Arch::X32),
    ("arm", Arch::Arm),
    ("arm64", Arch::Aarch64),
    ("loongarch64", Arch::Loongarch64),
    ("mips", Arch::Mips),
    ("mips64", Arch::Mips64),
    ("mips64-n32", Arch::Mips64n32),
    ("mips-le", Arch::Mipsel),
    ("mips64-le", Arch::Mipsel64),
    ("mips64-le-n32", Arch::Mipsel64n32),
    ("parisc", Arch::Parisc),
    ("parisc64", Arch::Parisc64),
    ("ppc", Arch::Ppc),
    ("ppc64", Arch::Ppc64),
    ("ppc64-le", Arch::Ppc64le),
    ("riscv64", Arch::Riscv64),
    ("s390", Arch::S390),
    ("s390x", Arch::S390x),
];

/// The architecture with a name in `SystemCallArchitectures=`.
pub(super) fn from_name(name: &str, version: SystemdVersion) -> Option<Arch> {
    let (_, arch) = NAMES.iter().find(|(known, _)| *known == name)?;
    Some(*arch).filter(|arch| *arch != Arch::Loongarch64 || version.has_loongarch())
}

/// systemd's name of an architecture; `None` if systemd does not know it.
pub fn name(arch: Arch) -> Option<&'static str> {
    NAMES.iter().find(|(_, known)| *known == arch).map(|(name, _)| *name)
}

/// The names in `SystemCallArchitectures=`.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.iter().map(|(name, _)| *name).chain(["native"])
}

/// The architectures for which a build of systemd installs filters, in the order of installation; the native one is last
/// (`seccomp_local_archs` in `seccomp-util.c`). A build for MIPS or POWER also installs filters for the other byte
/// order, which never match; they are left out. Empty for architectures without filters.
pub fn local(native: Arch, version: SystemdVersion) -> Vec<Arch> {
    match native {
        Arch::X86_64 => vec![Arch::X86, Arch::X32, Arch::X86_64],
        Arch::X32 => vec![Arch::X86, Arch::X86_64, Arch::X32],
        Arch::Aarch64 => vec![Arch::Arm, Arch::Aarch64],
        Arch::S390x => vec![Arch::S390, Arch::S390x],
        Arch::Ppc64 => vec![Arch::Ppc, Arch::Ppc64],
        Arch::Parisc64 => vec![Arch::Parisc, Arch::Parisc64],
        Arch::Mips64 => vec![Arch::Mips, Arch::Mips64n32, Arch::Mips64],
        Arch::Mips64n32 => vec![Arch::Mips, Arch::Mips64, Arch::Mips64n32],
        Arch::Mipsel64 => vec![Arch::Mipsel, Arch::Mipsel64n32, Arch::Mipsel64],
        Arch::Mipsel64n32 => vec![Arch::Mipsel, Arch::Mipsel64, Arch::Mipsel64n32],
        Arch::Loongarch64 if !version.has_loongarch() => Vec::new(),
        Arch::M68k | Arch::Sh | Arch::Sheb => Vec::new(),
        other => vec![other],
    }
}

/// The number of `personality(2)` for a name in `Personality=`: 0 for the native architecture, 8 (PER_LINUX32) for its
/// 32-bit one (`personality_from_string` in `process-util.c`, `architecture.h`).
pub(super) fn personality(name: &str, native: Arch) -> Option<u64> {
    let (own, small) = match native {
        Arch::X86_64 | Arch::X32 => ("x86-64", Some("x86")),
        Arch::Aarch64 => ("arm64", Some("arm")),
        Arch::S390x => ("s390x", Some("s390")),
        Arch::Ppc64 => ("ppc64", Some("ppc")),
        Arch::Ppc64le => ("ppc64-le", Some("ppc-le")),
        Arch::Mips64n32 => ("mips64", None),
        Arch::Mipsel64n32 => ("mips64-le", None),
        other => (self::name(other)?, None),
    };
    match name {
        _ if name == own => Some(0),
        _ if Some(name) == small => Some(8),
        _ => None,
    }
}

/// `O_CREAT` (`arch/*/include/uapi/asm/fcntl.h`).
pub(super) fn o_creat(native: Arch) -> u64 {
    if has_own_numbers(native) { 0x100 } else { 0x40 }
}

/// EAFNOSUPPORT (`arch/*/include/uapi/asm/errno.h`).
pub(super) fn eafnosupport(native: Arch) -> u16 {
    match native {
        Arch::Parisc | Arch::Parisc64 => 225,
        other if has_own_numbers(other) => 124,
        _ => 97,
    }
}

/// Whether errno values above 34 and `O_CREAT` differ from those of most architectures, as on MIPS and PA-RISC.
pub(super) fn has_own_numbers(native: Arch) -> bool {
    native.enosys() != Arch::X86_64.enosys()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_native_architecture_is_last_and_all_have_its_byte_order() {
        for native in Arch::ALL {
            let local = local(*native, SystemdVersion::LATEST);
            assert!(local.is_empty() || local.last() == Some(native), "{native}");
            assert!(local.iter().all(|arch| arch.endian() == native.endian()), "{native}");
            assert_eq!(local.is_empty(), name(*native).is_none(), "{native}");
        }
        let old = SystemdVersion::new(254).unwrap();
        assert!(local(Arch::Loongarch64, old).is_empty());
        assert_eq!(from_name("loongarch64", old), None);
        assert_eq!(from_name("arm64", old), Some(Arch::Aarch64));
        assert_eq!(from_name("aarch64", old), None);
    }

    #[test]
    fn personalities_are_those_of_the_build() {
        assert_eq!(personality("x86-64", Arch::X86_64), Some(0));
        assert_eq!(personality("x86", Arch::X86_64), Some(8));
        assert_eq!(personality("x86", Arch::X86), Some(0));
        assert_eq!(personality("arm64", Arch::X86_64), None);
        assert_eq!(personality("x32", Arch::X86_64), None);
    }
}
