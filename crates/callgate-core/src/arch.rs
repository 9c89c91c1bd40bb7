//! Architectures: arch token, byte order and width.
//!
//! Names follow libseccomp and the OCI runtime specification; tokens are the `AUDIT_ARCH_*` values
//! of `include/uapi/linux/audit.h`.

use crate::Endian;

/// One row of the table below.
struct Facts {
    name: &'static str,
    oci: &'static str,
    audit: &'static str,
    token: u32,
    endian: Endian,
    is_64bit: bool,
    aliases: &'static [&'static str],
}

/// The bit of the numbers of x32 syscalls (`__X32_SYSCALL_BIT`).
pub const X32_SYSCALL_BIT: u32 = 0x4000_0000;

/// A syscall ABI: an instruction set with its calling convention.
///
/// x86_64 and x32 share one token; only the syscall number distinguishes them.
#[non_exhaustive]
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[rustfmt::skip]
pub enum Arch {
    /// 64-bit x86.
    X86_64,
    /// 32-bit x86.
    X86,
    /// x86-64 with 32-bit pointers: the token of x86_64, numbers from 0x4000_0000.
    X32,
    /// 64-bit Arm.
    Aarch64,
    /// 32-bit Arm (EABI).
    Arm,
    /// 64-bit RISC-V.
    Riscv64,
    /// 64-bit IBM Z.
    S390x,
    /// 31-bit IBM Z.
    S390,
    /// 64-bit POWER, little-endian.
    Ppc64le,
    /// 64-bit POWER, big-endian.
    Ppc64,
    /// 32-bit POWER.
    Ppc,
    /// 64-bit LoongArch.
    Loongarch64,
    /// MIPS o32, big-endian.
    Mips,
    /// MIPS o32, little-endian.
    Mipsel,
    /// MIPS n64, big-endian.
    Mips64,
    /// MIPS n64, little-endian.
    Mipsel64,
    /// MIPS n32, big-endian.
    Mips64n32,
    /// MIPS n32, little-endian.
    Mipsel64n32,
    /// Motorola 68000.
    M68k,
    /// 32-bit PA-RISC.
    Parisc,
    /// 64-bit PA-RISC.
    Parisc64,
    /// SuperH, little-endian.
    Sh,
    /// SuperH, big-endian.
    Sheb,
}

impl Arch {
    /// All architectures.
    #[rustfmt::skip]
    pub const ALL: &'static [Arch] = &[
        Arch::X86_64, Arch::X86, Arch::X32, Arch::Aarch64, Arch::Arm, Arch::Riscv64, Arch::S390x,
        Arch::S390, Arch::Ppc64le, Arch::Ppc64, Arch::Ppc, Arch::Loongarch64, Arch::Mips,
        Arch::Mipsel, Arch::Mips64, Arch::Mipsel64, Arch::Mips64n32, Arch::Mipsel64n32,
        Arch::M68k, Arch::Parisc, Arch::Parisc64, Arch::Sh, Arch::Sheb,
    ];

    #[rustfmt::skip]
    const fn facts(self) -> &'static Facts {
        use Endian::{Big, Little};
        const fn row(
            name: &'static str, oci: &'static str, audit: &'static str, token: u32, endian: Endian,
            is_64bit: bool, aliases: &'static [&'static str],
        ) -> Facts {
            Facts { name, oci, audit, token, endian, is_64bit, aliases }
        }
        match self {
            Arch::X86_64 => const { &row("x86_64", "SCMP_ARCH_X86_64", "AUDIT_ARCH_X86_64", 0xc000003e, Little, true, &["amd64"]) },
            Arch::X86 => const { &row("x86", "SCMP_ARCH_X86", "AUDIT_ARCH_I386", 0x40000003, Little, false, &["i386", "i686", "386"]) },
            Arch::X32 => const { &row("x32", "SCMP_ARCH_X32", "AUDIT_ARCH_X86_64", 0xc000003e, Little, false, &[]) },
            Arch::Aarch64 => const { &row("aarch64", "SCMP_ARCH_AARCH64", "AUDIT_ARCH_AARCH64", 0xc00000b7, Little, true, &["arm64"]) },
            Arch::Arm => const { &row("arm", "SCMP_ARCH_ARM", "AUDIT_ARCH_ARM", 0x40000028, Little, false, &["armhf", "armel"]) },
            Arch::Riscv64 => const { &row("riscv64", "SCMP_ARCH_RISCV64", "AUDIT_ARCH_RISCV64", 0xc00000f3, Little, true, &[]) },
            Arch::S390x => const { &row("s390x", "SCMP_ARCH_S390X", "AUDIT_ARCH_S390X", 0x80000016, Big, true, &[]) },
            Arch::S390 => const { &row("s390", "SCMP_ARCH_S390", "AUDIT_ARCH_S390", 0x00000016, Big, false, &[]) },
            Arch::Ppc64le => const { &row("ppc64le", "SCMP_ARCH_PPC64LE", "AUDIT_ARCH_PPC64LE", 0xc0000015, Little, true, &["ppc64el", "powerpc64le"]) },
            Arch::Ppc64 => const { &row("ppc64", "SCMP_ARCH_PPC64", "AUDIT_ARCH_PPC64", 0x80000015, Big, true, &["powerpc64"]) },
            Arch::Ppc => const { &row("ppc", "SCMP_ARCH_PPC", "AUDIT_ARCH_PPC", 0x00000014, Big, false, &["powerpc"]) },
            Arch::Loongarch64 => const { &row("loongarch64", "SCMP_ARCH_LOONGARCH64", "AUDIT_ARCH_LOONGARCH64", 0xc0000102, Little, true, &["loong64"]) },
            Arch::Mips => const { &row("mips", "SCMP_ARCH_MIPS", "AUDIT_ARCH_MIPS", 0x00000008, Big, false, &[]) },
            Arch::Mipsel => const { &row("mipsel", "SCMP_ARCH_MIPSEL", "AUDIT_ARCH_MIPSEL", 0x40000008, Little, false, &["mipsle"]) },
            Arch::Mips64 => const { &row("mips64", "SCMP_ARCH_MIPS64", "AUDIT_ARCH_MIPS64", 0x80000008, Big, true, &[]) },
            Arch::Mipsel64 => const { &row("mipsel64", "SCMP_ARCH_MIPSEL64", "AUDIT_ARCH_MIPSEL64", 0xc0000008, Little, true, &["mips64el", "mips64le"]) },
            Arch::Mips64n32 => const { &row("mips64n32", "SCMP_ARCH_MIPS64N32", "AUDIT_ARCH_MIPS64N32", 0xa0000008, Big, false, &["mips64p32"]) },
            Arch::Mipsel64n32 => const { &row("mipsel64n32", "SCMP_ARCH_MIPSEL64N32", "AUDIT_ARCH_MIPSEL64N32", 0xe0000008, Little, false, &["mips64p32le", "mips64eln32"]) },
            Arch::M68k => const { &row("m68k", "SCMP_ARCH_M68K", "AUDIT_ARCH_M68K", 0x00000004, Big, false, &[]) },
            Arch::Parisc => const { &row("parisc", "SCMP_ARCH_PARISC", "AUDIT_ARCH_PARISC", 0x0000000f, Big, false, &["hppa"]) },
            Arch::Parisc64 => const { &row("parisc64", "SCMP_ARCH_PARISC64", "AUDIT_ARCH_PARISC64", 0x8000000f, Big, true, &["hppa64"]) },
            Arch::Sh => const { &row("sh", "SCMP_ARCH_SH", "AUDIT_ARCH_SHEL", 0x4000002a, Little, false, &["sh4"]) },
            Arch::Sheb => const { &row("sheb", "SCMP_ARCH_SHEB", "AUDIT_ARCH_SH", 0x0000002a, Big, false, &["sh4eb"]) },
        }
    }

    /// The name, as libseccomp spells it: `x86_64`, `aarch64`, `mipsel64`.
    pub const fn name(self) -> &'static str {
        self.facts().name
    }

    /// The name in OCI profiles: `SCMP_ARCH_X86_64`.
    pub const fn oci_name(self) -> &'static str {
        self.facts().oci
    }

    /// The name of the token: `AUDIT_ARCH_X86_64`.
    pub const fn audit_name(self) -> &'static str {
        self.facts().audit
    }

    /// The `AUDIT_ARCH_*` token in the arch word of `seccomp_data`.
    pub const fn token(self) -> u32 {
        self.facts().token
    }

    /// The byte order, which decides the offsets of argument halves.
    pub const fn endian(self) -> Endian {
        self.facts().endian
    }

    /// Whether pointers and syscall arguments have 64 bits.
    pub const fn is_64bit(self) -> bool {
        self.facts().is_64bit
    }

    /// Whether programs of this ABI pass 64 bits in each argument register; x32 and the n32 ABIs of MIPS do, despite 32-bit
    /// pointers.
    ///
    /// On the other 32-bit ABIs the high words that a filter sees are 0 for usual programs, but not for all: a 64-bit process on
    /// x86-64 that executes `int $0x80` makes a syscall of i386 with the 64 bits of its registers, which the kernel truncates
    /// after the filter has run (`syscall_get_arguments` in `arch/x86/include/asm/syscall.h`, `do_syscall_32_irqs_on` in
    /// `arch/x86/entry`). A 64-bit kernel for MIPS extends the sign of o32's registers. s390 and POWER mask them.
    pub const fn has_wide_registers(self) -> bool {
        self.is_64bit() || matches!(self, Arch::X32 | Arch::Mips64n32 | Arch::Mipsel64n32)
    }

    /// The first syscall number: 0, except for the bit of x32 and the thousands of the MIPS ABIs (`__NR_Linux` in `arch/mips/include/uapi/asm/unistd.h`).
    pub const fn first_number(self) -> u32 {
        match self {
            Arch::X32 => X32_SYSCALL_BIT,
            Arch::Mips | Arch::Mipsel => 4000,
            Arch::Mips64 | Arch::Mipsel64 => 5000,
            Arch::Mips64n32 | Arch::Mipsel64n32 => 6000,
            _ => 0,
        }
    }

    /// The number of ENOSYS, which differs between architectures (`arch/*/include/uapi/asm/errno.h`).
    pub const fn enosys(self) -> u16 {
        match self {
            Arch::Mips
            | Arch::Mipsel
            | Arch::Mips64
            | Arch::Mipsel64
            | Arch::Mips64n32
            | Arch::Mipsel64n32 => 89,
            Arch::Parisc | Arch::Parisc64 => 251,
            _ => 38,
        }
    }

    /// The architecture with a name in any usual spelling: that of libseccomp, Debian, Go, `uname -m`,
    /// or OCI's `SCMP_ARCH_*`.
    pub fn from_name(name: &str) -> Option<Arch> {
        Arch::ALL.iter().copied().find(|arch| {
            let facts = arch.facts();
            facts.name == name || facts.oci == name || facts.aliases.contains(&name)
        })
    }

    /// The architectures that share a token; empty for an unknown token.
    pub fn with_token(token: u32) -> impl Iterator<Item = Arch> {
        Arch::ALL.iter().copied().filter(move |arch| arch.token() == token)
    }

    /// The ABI of a syscall, by the token and the number that a filter sees; `None` for an unknown token.
    /// x32 numbers have the x32 bit, but are not negative: a tracer writes -1 to skip a syscall of any ABI (`do_syscall_x32` in
    /// `arch/x86/entry/syscall_64.c`).
    pub fn of_syscall(token: u32, nr: u32) -> Option<Arch> {
        let is_x32 = (X32_SYSCALL_BIT..1 << 31).contains(&nr);
        Arch::with_token(token)
            .find(|arch| (*arch == Arch::X32) == (is_x32 && token == Arch::X32.token()))
    }

    /// The architecture of the compilation target, if it is known.
    pub fn native() -> Option<Arch> {
        let is_64bit = cfg!(target_pointer_width = "64");
        Arch::of_target(std::env::consts::ARCH, is_64bit, Endian::NATIVE)
    }

    /// The architecture of a target of Rust, by its `target_arch`, pointer width and byte order. `None` if its syscalls are
    /// unknown, also where those of the other byte order are known (`aarch64_be`).
    pub fn of_target(name: &str, is_64bit: bool, endian: Endian) -> Option<Arch> {
        let arch = match (name, endian) {
            ("x86_64", _) if !is_64bit => Some(Arch::X32),
            ("powerpc64", Endian::Little) => Some(Arch::Ppc64le),
            ("mips", Endian::Little) => Some(Arch::Mipsel),
            ("mips64", Endian::Big) if !is_64bit => Some(Arch::Mips64n32),
            ("mips64", Endian::Little) if !is_64bit => Some(Arch::Mipsel64n32),
            ("mips64", Endian::Little) => Some(Arch::Mipsel64),
            _ => Arch::from_name(name),
        };
        arch.filter(|arch| arch.endian() == endian)
    }
}

impl std::fmt::Display for Arch {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_spelling_is_unique() {
        let mut seen = std::collections::HashMap::new();
        for arch in Arch::ALL {
            let facts = arch.facts();
            for name in [facts.name, facts.oci].iter().chain(facts.aliases) {
                assert_eq!(seen.insert(*name, arch), None, "{name}");
                assert_eq!(Arch::from_name(name), Some(*arch));
            }
        }
    }

    #[test]
    fn targets_of_rust_have_their_architecture() {
        use Endian::{Big, Little};
        for (name, is_64bit, endian, arch) in [
            ("x86_64", true, Little, Some(Arch::X86_64)),
            ("x86_64", false, Little, Some(Arch::X32)),
            ("x86", false, Little, Some(Arch::X86)),
            ("aarch64", true, Little, Some(Arch::Aarch64)),
            ("aarch64", true, Big, None),
            ("arm", false, Little, Some(Arch::Arm)),
            ("arm", false, Big, None),
            ("riscv64", true, Little, Some(Arch::Riscv64)),
            ("s390x", true, Big, Some(Arch::S390x)),
            ("powerpc64", true, Big, Some(Arch::Ppc64)),
            ("powerpc64", true, Little, Some(Arch::Ppc64le)),
            ("powerpc", false, Big, Some(Arch::Ppc)),
            ("loongarch64", true, Little, Some(Arch::Loongarch64)),
            ("mips", false, Big, Some(Arch::Mips)),
            ("mips", false, Little, Some(Arch::Mipsel)),
            ("mips64", true, Big, Some(Arch::Mips64)),
            ("mips64", true, Little, Some(Arch::Mipsel64)),
            ("m68k", false, Big, Some(Arch::M68k)),
            ("wasm32", false, Little, None),
            ("sparc64", true, Big, None),
        ] {
            assert_eq!(Arch::of_target(name, is_64bit, endian), arch, "{name} {endian:?}");
        }
        let known = Arch::from_name(std::env::consts::ARCH).is_some();
        assert_eq!(Arch::native().is_some(), known);
        assert!(Arch::native().is_none_or(|arch| arch.endian() == Endian::NATIVE));
    }

    #[test]
    fn oci_names_are_the_names_in_capitals() {
        for arch in Arch::ALL {
            assert_eq!(arch.oci_name(), format!("SCMP_ARCH_{}", arch.name().to_uppercase()));
        }
    }

    /// `ENOSYS` in `arch/mips/include/uapi/asm/errno.h`, `arch/parisc/include/uapi/asm/errno.h` and
    /// `include/uapi/asm-generic/errno.h`.
    #[test]
    fn mips_and_parisc_have_their_own_enosys() {
        for arch in Arch::ALL {
            let enosys = match arch.name() {
                name if name.starts_with("mips") => 89,
                name if name.starts_with("parisc") => 251,
                _ => 38,
            };
            assert_eq!(arch.enosys(), enosys, "{arch}");
        }
    }

    #[test]
    fn token_and_number_determine_the_abi() {
        let x86 = Arch::X86_64.token();
        assert_eq!(Arch::of_syscall(x86, 0), Some(Arch::X86_64));
        assert_eq!(Arch::of_syscall(x86, X32_SYSCALL_BIT), Some(Arch::X32));
        assert_eq!(Arch::of_syscall(x86, 0x7fff_ffff), Some(Arch::X32));
        assert_eq!(Arch::of_syscall(x86, u32::MAX), Some(Arch::X86_64));
        assert_eq!(Arch::of_syscall(Arch::X86.token(), X32_SYSCALL_BIT), Some(Arch::X86));
        assert_eq!(Arch::of_syscall(7, 0), None);
    }

    #[test]
    fn tokens_agree_with_width_and_byte_order() {
        for arch in Arch::ALL {
            assert_eq!(arch.token() & 0x4000_0000 != 0, arch.endian() == Endian::Little, "{arch}");
            let convention = matches!(arch, Arch::X32 | Arch::Mips64n32 | Arch::Mipsel64n32);
            assert_eq!(arch.token() & 0x8000_0000 != 0, arch.is_64bit() || convention, "{arch}");
        }
    }
}
