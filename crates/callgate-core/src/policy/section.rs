//! The rules for one arch token.

use crate::{Arch, SyscallSet, Verdict, X32_SYSCALL_BIT};

use super::condition::Condition;
use super::error::{PolicyError, PolicyErrorKind};

/// The rules for one arch token.
///
/// The token is that of its first ABI. x86_64 and x32 share a token, so a section can cover both.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(try_from = "super::serialize::SectionForm", into = "super::serialize::SectionForm")
)]
pub struct Section {
    pub(super) first: Arch,
    others: Vec<Arch>,
    /// First match wins.
    pub rules: Vec<Rule>,
    /// The verdict for a syscall that no rule matches.
    pub default: Verdict,
}

/// One rule: these syscalls get this verdict if the condition holds.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
pub struct Rule {
    /// The syscall numbers.
    pub syscalls: SyscallSet,
    /// The condition on the arguments.
    pub when: Condition,
    /// The verdict if the rule matches.
    pub verdict: Verdict,
}

impl Section {
    /// Rules for the syscalls of one architecture; the first rule that matches decides.
    pub const fn new(arch: Arch, rules: Vec<Rule>, default: Verdict) -> Section {
        Section { first: arch, others: Vec::new(), rules, default }
    }

    /// Adds another ABI with the same token, such as x32 to x86_64. ABIs affect the names and weights of
    /// syscall numbers, never the meaning of the rules.
    ///
    /// # Errors
    /// If the architecture has another token, or the section already has it.
    pub fn and_arch(mut self, arch: Arch) -> Result<Section, PolicyError> {
        if arch.token() != self.token() {
            return Err(PolicyError(PolicyErrorKind::OtherToken(self.first, arch)));
        }
        if self.arches().any(|existing| existing == arch) {
            return Err(PolicyError(PolicyErrorKind::DuplicateArch(arch)));
        }
        self.others.push(arch);
        Ok(self)
    }

    /// The same section with other rules.
    #[must_use]
    pub fn with_rules(&self, rules: Vec<Rule>) -> Section {
        Section { first: self.first, others: self.others.clone(), rules, default: self.default }
    }

    /// The `AUDIT_ARCH_*` token.
    pub const fn token(&self) -> u32 {
        self.first.token()
    }

    /// The ABIs that the rules were written for, at least one; all have the token of the section.
    pub fn arches(&self) -> impl Iterator<Item = Arch> + Clone + '_ {
        std::iter::once(self.first).chain(self.others.iter().copied())
    }

    /// The syscall numbers of the other ABI with the same token, if the section has only one of the two: for
    /// x86_64 those of x32, from 0x4000_0000; for x32 those below. Empty for all other sections.
    /// 0xffff_ffff, which a tracer sets to skip a syscall, belongs to both.
    pub fn other_abi(&self) -> SyscallSet {
        match (self.first, self.others.is_empty()) {
            (Arch::X86_64, true) => SyscallSet::range(X32_SYSCALL_BIT, u32::MAX - 1),
            (Arch::X32, true) => SyscallSet::range(0, X32_SYSCALL_BIT - 1),
            _ => SyscallSet::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(arch: Arch) -> Section {
        Section::new(arch, vec![], Verdict::errno(1))
    }

    #[test]
    fn a_section_has_the_token_of_its_architectures() {
        let wide = section(Arch::X86_64);
        assert_eq!(wide.token(), Arch::X86_64.token());
        assert!(wide.other_abi().contains(X32_SYSCALL_BIT) && !wide.other_abi().contains(u32::MAX));
        let both = wide.clone().and_arch(Arch::X32).unwrap();
        assert!(both.arches().eq([Arch::X86_64, Arch::X32]) && both.other_abi().is_empty());
        assert!(section(Arch::X32).other_abi().contains(0));
        assert!(section(Arch::Aarch64).other_abi().is_empty());
        let twice = both.and_arch(Arch::X32).unwrap_err().to_string();
        assert!(twice.contains("x32") && twice.contains("twice"), "{twice}");
        let other = wide.and_arch(Arch::X86).unwrap_err().to_string();
        assert!(other.contains("0x40000003") && other.contains("0xc000003e"), "{other}");
    }
}
