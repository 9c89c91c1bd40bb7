//! Architectures: bionic's names for them, and those of a host.

use callgate_core::Arch;

/// The architectures of bionic, with its names for them. MIPS was removed after Android 10.
const ARCHES: [(&str, Arch); 7] = [
    ("arm", Arch::Arm),
    ("arm64", Arch::Aarch64),
    ("mips", Arch::Mipsel),
    ("mips64", Arch::Mipsel64),
    ("riscv64", Arch::Riscv64),
    ("x86", Arch::X86),
    ("x86_64", Arch::X86_64),
];

/// The words for several architectures.
const ALL: &str = "all";
const NARROW: &str = "lp32";
const WIDE: &str = "lp64";

/// A set of architectures of bionic.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct ArchSet(u8);

impl ArchSet {
    /// The architectures of a word, except `all`, which stands alone.
    pub(super) fn of_word(word: &str) -> Option<ArchSet> {
        let of = |is_meant: &dyn Fn(&str, Arch) -> bool| {
            let nth = ARCHES.iter().enumerate();
            let meant = nth.filter(|(_, (name, arch))| is_meant(name, *arch));
            ArchSet(meant.fold(0, |set, (index, _)| set | 1 << index))
        };
        match word {
            NARROW => Some(of(&|_, arch| !arch.is_64bit())),
            WIDE => Some(of(&|_, arch| arch.is_64bit())),
            _ => Some(of(&|name, _| name == word)).filter(|set| set.0 != 0),
        }
    }

    /// The architectures of a whole list if it is one word for all of them.
    pub(super) fn of_all(list: &str) -> Option<ArchSet> {
        (list == ALL).then_some(ArchSet(u8::MAX))
    }

    pub(super) fn or(self, other: ArchSet) -> ArchSet {
        ArchSet(self.0 | other.0)
    }

    pub(super) fn has(self, arch: Arch) -> bool {
        let nth = ARCHES.iter().position(|(_, of)| *of == arch);
        nth.is_some_and(|index| self.0 & 1 << index != 0)
    }
}

/// Whether a word is the name of a single architecture.
pub(super) fn is_single(word: &str) -> bool {
    ARCHES.iter().any(|(name, _)| *name == word)
}

/// All words for architectures.
pub(super) fn words() -> impl Iterator<Item = &'static str> {
    ARCHES.iter().map(|(name, _)| *name).chain([ALL, NARROW, WIDE])
}

/// bionic's name of an architecture.
pub(super) fn arch_name(arch: Arch) -> &'static str {
    ARCHES.iter().find(|(_, of)| *of == arch).map_or(arch.name(), |(name, _)| name)
}

/// The architectures of a filter on a host with this one, the 64-bit one first; none if bionic has no filters for it.
pub fn arches_of(native: Arch) -> &'static [Arch] {
    match native {
        Arch::X86_64 | Arch::X86 => &[Arch::X86_64, Arch::X86],
        Arch::Aarch64 | Arch::Arm => &[Arch::Aarch64, Arch::Arm],
        Arch::Riscv64 => &[Arch::Riscv64],
        Arch::Mipsel64 | Arch::Mipsel => &[Arch::Mipsel64, Arch::Mipsel],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_stand_for_architectures() {
        let of = |word: &str| {
            let set = ArchSet::of_word(word).or_else(|| ArchSet::of_all(word))?;
            Some(ARCHES.map(|(_, arch)| arch).into_iter().filter(|arch| set.has(*arch)).collect())
        };
        let arches = |arches: &[Arch]| Some(arches.to_vec());
        assert_eq!(of("lp32"), arches(&[Arch::Arm, Arch::Mipsel, Arch::X86]));
        let wide = [Arch::Aarch64, Arch::Mipsel64, Arch::Riscv64, Arch::X86_64];
        assert_eq!(of("lp64"), arches(&wide));
        assert_eq!(of("all"), arches(&ARCHES.map(|(_, arch)| arch)));
        assert_eq!(of("arm"), arches(&[Arch::Arm]));
        assert_eq!(of("aarch64"), None);
        assert!(!ArchSet(u8::MAX).has(Arch::S390x));
    }
}
