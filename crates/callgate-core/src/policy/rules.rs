//! A filter as rules.

use std::sync::Arc;

use crate::template::{ValueError, Variable, check_values};
use crate::{Arch, Endian, Layout, SeccompData, Verdict};

use super::error::{PolicyError, PolicyErrorKind};
use super::section::{Rule, Section};

/// A filter as rules. See the [module](super) for its meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[cfg_attr(
    feature = "serde",
    serde(try_from = "super::serialize::PolicyForm", into = "super::serialize::PolicyForm")
)]
pub struct Policy {
    // Shared: a proved program keeps its policy.
    sections: Arc<[Section]>,
    bad_arch: Verdict,
    endian: Endian,
    variables: Arc<[Variable]>,
}

impl Policy {
    /// A policy with these sections.
    ///
    /// # Errors
    /// If two sections have one token, or their architectures differ in byte order; if a condition compares with a
    /// variable, or a member of an io_uring request.
    pub fn new(sections: Vec<Section>, bad_arch: Verdict) -> Result<Policy, PolicyError> {
        Policy::with_variables(sections, bad_arch, Vec::new())
    }

    /// A policy with these sections, whose conditions may compare with these variables.
    ///
    /// # Errors
    /// If two sections have one token, or their architectures differ in byte order; if a condition compares with a
    /// variable that is not among these, or a member of an io_uring request.
    pub fn with_variables(
        sections: Vec<Section>,
        bad_arch: Verdict,
        variables: Vec<Variable>,
    ) -> Result<Policy, PolicyError> {
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
        let mut wrong = None;
        for rule in sections.iter().flat_map(|section| &section.rules) {
            rule.when.for_each_comparison(&mut |field, symbol| {
                let undeclared =
                    symbol.map(|symbol| symbol.variable()).filter(|at| *at >= variables.len());
                let kind = match (field.layout(), undeclared) {
                    (Layout::Seccomp, None) => return,
                    (Layout::Seccomp, Some(index)) => PolicyErrorKind::Undeclared(index),
                    (layout, _) => PolicyErrorKind::OtherInput(layout),
                };
                wrong.get_or_insert(kind);
            });
        }
        match wrong {
            Some(kind) => Err(PolicyError(kind)),
            None => Ok(Policy {
                sections: sections.into(),
                bad_arch,
                endian,
                variables: variables.into(),
            }),
        }
    }

    /// The variables; symbols refer to them by index.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// The policy without variables, whose values are these.
    ///
    /// # Errors
    /// If the number of values is not that of the variables, or a value does not fit.
    pub fn given(&self, values: &[u64]) -> Result<Policy, ValueError> {
        check_values(&self.variables, values)?;
        let given = |rule: &Rule| Rule { when: rule.when.given(values), ..rule.clone() };
        let section =
            |section: &Section| section.with_rules(section.rules.iter().map(given).collect());
        let sections = self.sections.iter().map(section).collect();
        Ok(Policy { sections, variables: Arc::new([]), ..*self })
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
    /// a policy, against which the diagram is tested. All variables are 0; see [`Policy::given`] for other values.
    pub fn evaluate(&self, data: &SeccompData) -> Verdict {
        let Some(section) = self.sections.iter().find(|section| section.token() == data.arch)
        else {
            return self.bad_arch;
        };
        section
            .rules
            .iter()
            .find(|rule| rule.syscalls.contains(data.nr) && rule.when.holds(data))
            .map_or(section.default, |rule| rule.verdict)
    }
}

#[cfg(test)]
mod tests {
    use crate::SyscallSet;

    use super::super::comparison::{Field, Test};
    use super::super::condition::Condition;
    use super::*;

    fn section(arch: Arch, rules: Vec<Rule>) -> Section {
        Section::new(arch, rules, Verdict::errno(1))
    }

    #[test]
    fn the_first_match_decides() {
        let rule = |syscalls, when, verdict| Rule { syscalls, when, verdict };
        let five = Condition::test(Test::eq(Field::arg(0).unwrap(), 5));
        let policy = Policy::new(
            vec![section(
                Arch::X86_64,
                vec![
                    rule(SyscallSet::one(1), five, Verdict::LOG),
                    rule(SyscallSet::range(0, 2), Condition::always(), Verdict::ALLOW),
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
