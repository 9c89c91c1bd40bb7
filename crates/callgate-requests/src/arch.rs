//! Names of architectures as people and other tools write them.

use callgate::Arch;

/// Spellings besides those of [`Arch::from_name`]: of kernels (`uname -m`), compilers and manuals.
const OTHERS: [(&str, Arch); 14] = [
    ("x64", Arch::X86_64),
    ("x86_32", Arch::X86),
    ("ia32", Arch::X86),
    ("i486", Arch::X86),
    ("i586", Arch::X86),
    ("gnux32", Arch::X32),
    ("armv8", Arch::Aarch64),
    ("armv6l", Arch::Arm),
    ("armv7", Arch::Arm),
    ("armv7l", Arch::Arm),
    ("armv8l", Arch::Arm),
    ("powerpc64el", Arch::Ppc64le),
    ("ppc32", Arch::Ppc),
    ("loongarch", Arch::Loongarch64),
];

/// The architecture with a name in any usual spelling, in upper or lower case, with `-` or `_`: `x86-64`, `AMD64`,
/// `armv7l`, `AUDIT_ARCH_I386`.
pub fn arch_named(name: &str) -> Option<Arch> {
    let plain = || name.to_ascii_lowercase().replace('-', "_");
    Arch::from_name(name).or_else(|| {
        let plain = plain();
        let known = Arch::from_name(&plain);
        let other = || OTHERS.iter().find(|(name, _)| *name == plain).map(|(_, arch)| *arch);
        // x86_64 comes before x32, which has the same token.
        let token = || {
            let is_same = |arch: &&Arch| {
                arch.audit_name().eq_ignore_ascii_case(&plain)
                    || arch.oci_name().eq_ignore_ascii_case(&plain)
            };
            Arch::ALL.iter().find(is_same).copied()
        };
        known.or_else(other).or_else(token)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_spellings_are_known() {
        for (name, arch) in [
            ("x86_64", Some(Arch::X86_64)),
            ("x86-64", Some(Arch::X86_64)),
            ("X86-64", Some(Arch::X86_64)),
            ("AMD64", Some(Arch::X86_64)),
            ("x64", Some(Arch::X86_64)),
            ("i586", Some(Arch::X86)),
            ("ARM64", Some(Arch::Aarch64)),
            ("armv7l", Some(Arch::Arm)),
            ("ppc64-le", None),
            ("AUDIT_ARCH_X86_64", Some(Arch::X86_64)),
            ("audit_arch_i386", Some(Arch::X86)),
            ("scmp_arch_x32", Some(Arch::X32)),
            ("", None),
            ("pdp11", None),
        ] {
            assert_eq!(arch_named(name), arch, "{name}");
        }
        for (name, arch) in OTHERS {
            assert!(Arch::from_name(name).is_none(), "{name}");
            assert_eq!(arch_named(name), Some(arch));
        }
    }
}
