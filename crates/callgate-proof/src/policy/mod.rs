//! The policy: what every policy language is read into.
//!
//! A policy has one [`Section`] per arch token, each with an ordered list of [`Rule`]s: the first
//! rule that matches a call decides, else the section's default does. Calls of any other arch get
//! [`Policy::bad_arch`]. Readers of languages with other combination rules (libseccomp's union of
//! rules, systemd's sets) translate them into this order.
//!
//! Invariants, kept by the constructors: sections have distinct tokens and one byte order; sets of
//! calls and conditions are normal, so equal ones compare equal.

mod condition;

pub use callgate_bpf::syscalls::CallSet;
pub use condition::{Cmp, Condition, Field, Shape, Test};

use callgate_bpf::data::{Endian, SeccompData};
use callgate_bpf::syscalls::Arch;
use callgate_bpf::verdict::Verdict;

/// A filter as rules. See the [module](self) for its meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Policy {
    sections: Vec<Section>,
    bad_arch: Verdict,
    endian: Endian,
}

/// The rules for one arch token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Section {
    /// The `AUDIT_ARCH_*` token.
    pub token: u32,
    /// The interfaces with that token that the rules were written for: x86_64, x32 or both for
    /// `AUDIT_ARCH_X86_64`. They decide how numbers are named, nothing else.
    pub arches: Vec<Arch>,
    /// First match wins.
    pub rules: Vec<Rule>,
    /// The verdict for a call that no rule matches.
    pub default: Verdict,
}

/// One rule: these calls, under this condition, get this verdict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rule {
    /// The numbers it is about.
    pub calls: CallSet,
    /// What must hold of the arguments.
    pub when: Condition,
    /// What such a call gets.
    pub verdict: Verdict,
}

/// Why sections do not form a policy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PolicyError(PolicyErrorKind);

#[derive(Clone, Debug, PartialEq, Eq)]
enum PolicyErrorKind {
    DuplicateToken(u32),
    MixedEndian(Arch, Arch),
}

impl std::fmt::Display for PolicyError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match &self.0 {
            PolicyErrorKind::DuplicateToken(token) => {
                write!(f, "two sections have the arch token {token:#010x}; join their rules")
            }
            PolicyErrorKind::MixedEndian(a, b) => write!(
                f,
                "{a} and {b} have different byte orders, so no kernel runs both; \
                 compile one filter for each"
            ),
        }
    }
}

impl std::error::Error for PolicyError {}

impl Policy {
    /// A policy of these sections.
    ///
    /// # Errors
    /// When two sections have one token, or their architectures differ in byte order.
    pub fn new(sections: Vec<Section>, bad_arch: Verdict) -> Result<Policy, PolicyError> {
        for (i, section) in sections.iter().enumerate() {
            if sections.iter().take(i).any(|earlier| earlier.token == section.token) {
                return Err(PolicyError(PolicyErrorKind::DuplicateToken(section.token)));
            }
        }
        let mut arches = sections.iter().flat_map(|section| section.arches.iter().copied());
        let first = arches.next();
        let endian = first.map_or(Endian::Little, Arch::endian);
        if let (Some(first), Some(other)) = (first, arches.find(|arch| arch.endian() != endian)) {
            return Err(PolicyError(PolicyErrorKind::MixedEndian(first, other)));
        }
        Ok(Policy { sections, bad_arch, endian })
    }

    /// The sections, in the order given.
    pub fn sections(&self) -> &[Section] {
        &self.sections
    }

    /// The verdict for calls of an arch that no section is about.
    pub fn bad_arch(&self) -> Verdict {
        self.bad_arch
    }

    /// The byte order of the machines that this policy is for.
    pub fn endian(&self) -> Endian {
        self.endian
    }

    /// The architectures of all sections.
    pub fn arches(&self) -> impl Iterator<Item = Arch> {
        self.sections.iter().flat_map(|section| section.arches.iter().copied())
    }

    /// The verdict for a call, straight from the rules: the definition of what a policy means,
    /// against which the diagram is tested.
    pub fn evaluate(&self, data: &SeccompData) -> Verdict {
        let Some(section) = self.sections.iter().find(|section| section.token == data.arch) else {
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
        Section { token: arch.token(), arches: vec![arch], rules, default: Verdict::errno(1) }
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
    fn sections_must_be_of_one_byte_order_and_have_distinct_tokens() {
        let mixed = vec![section(Arch::X86_64, vec![]), section(Arch::S390x, vec![])];
        assert!(Policy::new(mixed, Verdict::ALLOW).unwrap_err().to_string().contains("byte order"));
        let twice = vec![section(Arch::X86_64, vec![]), section(Arch::X32, vec![])];
        assert!(Policy::new(twice, Verdict::ALLOW).unwrap_err().to_string().contains("0xc000003e"));
    }
}
