//! The architectures of a filter, and the sections whose rules a host uses.

use callgate_core::Arch;

/// The architectures that LXC adds to that of a host.
pub fn compat_arches(native: Arch) -> &'static [Arch] {
    match native {
        Arch::X86_64 => &[Arch::X86, Arch::X32],
        Arch::Aarch64 => &[Arch::Arm],
        Arch::Ppc64 => &[Arch::Ppc],
        Arch::Mips64 => &[Arch::Mips, Arch::Mips64n32],
        Arch::Mipsel64 => &[Arch::Mipsel, Arch::Mipsel64n32],
        _ => &[],
    }
}

/// The architecture of a host whose programs have this architecture: kernels have no x32 or n32 of their own.
pub fn host_of(arch: Arch) -> Arch {
    match arch {
        Arch::X32 => Arch::X86_64,
        Arch::Mips64n32 => Arch::Mips64,
        Arch::Mipsel64n32 => Arch::Mipsel64,
        other => other,
    }
}

/// Whether LXC knows this host. On others it skips all rules outside of the section `[all]`.
pub(super) fn is_known_host(native: Arch) -> bool {
    SECTIONS.iter().any(|(_, hosts)| hosts.contains(&native))
}

/// The sections for one architecture, and the hosts that use their rules. Names may also be in upper case.
const SECTIONS: &[(&str, &[Arch])] = &[
    ("x86", &[Arch::X86, Arch::X86_64]),
    ("x32", &[Arch::X86_64]),
    ("x86_64", &[Arch::X86_64]),
    ("arm", &[Arch::Arm, Arch::Aarch64]),
    ("arm64", &[Arch::Aarch64]),
    ("ppc64le", &[Arch::Ppc64le]),
    ("ppc64", &[Arch::Ppc64]),
    ("ppc", &[Arch::Ppc, Arch::Ppc64]),
    ("mips64", &[Arch::Mips64]),
    ("mips64n32", &[Arch::Mips64]),
    ("mips", &[Arch::Mips, Arch::Mips64]),
    ("mipsel64", &[Arch::Mipsel64]),
    ("mipsel64n32", &[Arch::Mipsel64]),
    ("mipsel", &[Arch::Mipsel, Arch::Mipsel64]),
    ("s390x", &[Arch::S390x]),
    ("s390", &[Arch::S390]),
    ("loongarch64", &[Arch::Loongarch64]),
];

/// A section of a profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SectionKind {
    /// `[all]`.
    All,
    /// For one architecture, and whether the host uses its rules.
    One { is_used: bool },
}

/// The section with this name on a host; `None` if LXC refuses it.
pub(super) fn section(name: &str, native: Arch) -> Option<SectionKind> {
    let is = |known: &str| name == known || name == known.to_ascii_uppercase();
    if is("all") {
        return Some(SectionKind::All);
    }
    let (_, hosts) = SECTIONS.iter().find(|(known, _)| is(known))?;
    Some(SectionKind::One { is_used: hosts.contains(&native) })
}

/// The names of all sections.
pub(super) fn section_names() -> impl Iterator<Item = &'static str> {
    SECTIONS.iter().map(|(name, _)| *name).chain(["all"])
}
