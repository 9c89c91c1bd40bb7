//! The policy: a filter as ordered rules per architecture. Every policy language is translated to it.
//!
//! A policy has one [`Section`] per arch token, each with an ordered list of [`Rule`]s. The first
//! rule that matches a syscall decides; without a match, the default of the section does. Syscalls of any
//! other arch get [`Policy::bad_arch`]. Readers of languages with other rules of combination (libseccomp's
//! union, systemd's sets) translate them to this order.
//!
//! Invariants, enforced by the constructors: sections have distinct tokens and one byte order; sets of
//! syscall numbers and conditions are in normal form, so equal ones compare equal.

mod condition;
#[cfg(feature = "serde")]
mod serialize;

pub use callgate_bpf::syscalls::CallSet;
pub use condition::{Cmp, Condition, Field, Shape, Test};

use callgate_bpf::data::{Endian, SeccompData};
use callgate_bpf::syscalls::{Arch, X32_SYSCALL_BIT};
use callgate_bpf::verdict::Verdict;

/// A filter as rules. See the [module](self) for its meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(try_from = "serialize::PolicyForm", into = "serialize::PolicyForm")
)]
pub struct Policy {
    sections: Vec<Section>,
    bad_arch: Verdict,
    endian: Endian,
}

/// The rules for one arch token.
///
/// The token is that of its first ABI. x86_64 and x32 share a token, so a section can cover both.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(try_from = "serialize::SectionForm", into = "serialize::SectionForm")
)]
pub struct Section {
    first: Arch,
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
    pub calls: CallSet,
    /// The condition on the arguments.
    pub when: Condition,
    /// The verdict if the rule matches.
    pub verdict: Verdict,
}

/// The error for sections that do not form a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError(PolicyErrorKind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum PolicyErrorKind {
    DuplicateToken(u32),
    OtherToken(Arch, Arch),
    DuplicateArch(Arch),
    MixedEndian(Arch, Arch),
}

impl std::fmt::Display for PolicyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            PolicyErrorKind::DuplicateToken(token) => {
                write!(f, "two sections have the arch token {token:#010x}; join their rules")
            }
            PolicyErrorKind::OtherToken(first, other) => write!(
                f,
                "{other} has the arch token {:#010x}, but the section of {first} has \
                 {:#010x}; give {other} a section of its own",
                other.token(),
                first.token()
            ),
            PolicyErrorKind::DuplicateArch(arch) => {
                write!(f, "{arch} occurs twice in the section; give it once")
            }
            PolicyErrorKind::MixedEndian(a, b) => write!(
                f,
                "{a} and {b} have different byte orders, so no kernel runs both; \
                 compile a filter for each"
            ),
        }
    }
}

impl std::error::Error for PolicyError {}

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
    pub fn other_abi(&self) -> CallSet {
        match (self.first, self.others.is_empty()) {
            (Arch::X86_64, true) => CallSet::range(X32_SYSCALL_BIT, u32::MAX - 1),
            (Arch::X32, true) => CallSet::range(0, X32_SYSCALL_BIT - 1),
            _ => CallSet::default(),
        }
    }
}

impl Policy {
    /// A policy with these sections.
    ///
    /// # Errors
    /// If two sections have one token, or their architectures differ in byte order.
    pub fn new(sections: Vec<Section>, bad_arch: Verdict) -> Result<Policy, PolicyError> {
        for (i, section) in sections.iter().enumerate() {
            if sections.iter().take(i).any(|earlier| earlier.token() == section.token()) {
                return Err(PolicyError(PolicyErrorKind::DuplicateToken(section.token())));
            }
        }
        // The ABIs of a section share a token, which determines the byte order.
        let mut firsts = sections.iter().map(|section| section.first);
        let first = firsts.next();
        let endian = first.map_or(Endian::Little, Arch::endian);
        if let (Some(first), Some(other)) = (first, firsts.find(|arch| arch.endian() != endian)) {
            return Err(PolicyError(PolicyErrorKind::MixedEndian(first, other)));
        }
        Ok(Policy { sections, bad_arch, endian })
    }

    /// The sections, in the order given.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The verdict for syscalls of an arch without a section.
    pub fn bad_arch(&self) -> Verdict {
        self.bad_arch
    }

    /// The byte order of the machines that this policy is for.
    pub fn endian(&self) -> Endian {
        self.endian
    }

    /// The architectures of all sections.
    pub fn arches(&self) -> impl Iterator<Item = Arch> {
        self.sections.iter().flat_map(Section::arches)
    }

    /// The verdict for a syscall, evaluated directly from the rules. This is the definition of the meaning of
    /// a policy, against which the diagram is tested.
    pub fn evaluate(&self, data: &SeccompData) -> Verdict {
        let Some(section) = self.sections.iter().find(|section| section.token() == data.arch)
        else {
            return self.bad_arch;
        };
        section
            .rules
            .iter()
            .find(|rule| rule.calls.contains(data.nr) && rule.when.holds(data))
            .map_or(section.default, |rule| rule.verdict)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn section(arch: Arch, rules: Vec<Rule>) -> Section {
        Section::new(arch, rules, Verdict::errno(1))
    }

    #[test]
    fn a_section_has_the_token_of_its_architectures() {
        let wide = section(Arch::X86_64, vec![]);
        assert_eq!(wide.token(), Arch::X86_64.token());
        assert!(wide.other_abi().contains(X32_SYSCALL_BIT) && !wide.other_abi().contains(u32::MAX));
        let both = wide.clone().and_arch(Arch::X32).unwrap();
        assert!(both.arches().eq([Arch::X86_64, Arch::X32]) && both.other_abi().is_empty());
        assert!(section(Arch::X32, vec![]).other_abi().contains(0));
        assert!(section(Arch::Aarch64, vec![]).other_abi().is_empty());
        let twice = both.and_arch(Arch::X32).unwrap_err().to_string();
        assert!(twice.contains("x32") && twice.contains("twice"), "{twice}");
        let other = wide.and_arch(Arch::X86).unwrap_err().to_string();
        assert!(other.contains("0x40000003") && other.contains("0xc000003e"), "{other}");
    }

    #[test]
    fn the_first_match_decides() {
        let rule = |calls, when, verdict| Rule { calls, when, verdict };
        let five = Condition::test(Test::eq(Field::arg(0).unwrap(), 5));
        let policy = Policy::new(
            vec![section(
                Arch::X86_64,
                vec![
                    rule(CallSet::one(1), five, Verdict::LOG),
                    rule(CallSet::range(0, 2), Condition::always(), Verdict::ALLOW),
                ],
            )],
            Verdict::KILL_THREAD,
        )
        .unwrap();
        let mut data = SeccompData { nr: 1, arch: Arch::X86_64.token(), ..Default::default() };
        assert_eq!(policy.evaluate(&data), Verdict::ALLOW);
        data.args[0] = 5;
        assert_eq!(policy.evaluate(&data), Verdict::LOG);
        data.nr = 3;
        assert_eq!(policy.evaluate(&data), Verdict::errno(1));
        data.arch = 7;
        assert_eq!(policy.evaluate(&data), Verdict::KILL_THREAD);
    }

    #[test]
    fn sections_must_have_one_byte_order_and_distinct_tokens() {
        let mixed = vec![section(Arch::X86_64, vec![]), section(Arch::S390x, vec![])];
        assert!(Policy::new(mixed, Verdict::ALLOW).unwrap_err().to_string().contains("byte order"));
        let twice = vec![section(Arch::X86_64, vec![]), section(Arch::X32, vec![])];
        assert!(Policy::new(twice, Verdict::ALLOW).unwrap_err().to_string().contains("0xc000003e"));
    }
}
