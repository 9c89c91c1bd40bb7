//! A filter of io_uring requests as rules.

use crate::io_uring::{Decision, IoUringRequest};
use crate::{Endian, FilterInput, Layout, SyscallSet, Verdict};

use super::condition::{Condition, Shape};
use super::error::{PolicyError, PolicyErrorKind};
use super::section::Rule;

/// The largest opcode: opcodes have 8 bits.
const MAX_OPCODE: u32 = u8::MAX as u32;

/// A filter of io_uring requests: an ordered list of rules, of which the first that matches a request decides.
///
/// It is for machines of one byte order, which decides where the members of a request are.
///
/// ```
/// use callgate_core::Endian;
/// use callgate_core::io_uring::{Decision, IoUringRequest, Member, SocketPayload};
/// use callgate_core::SyscallSet;
/// use callgate_core::policy::{Condition, Field, RequestPolicy, RequestRule, Test};
///
/// let family = Field::of_request(Member::SocketFamily, Endian::Little);
/// let rule = RequestRule {
///     opcodes: SyscallSet::one(45), // IORING_OP_SOCKET
///     when: Condition::test(Test::eq(family, 2)), // AF_INET
///     decision: Decision::Allow,
/// };
/// let policy = RequestPolicy::new(vec![rule], Decision::Deny, Endian::Little)?;
/// let request = |family| {
///     IoUringRequest::socket(SocketPayload { family, kind: 1, protocol: 0 }, Endian::Little)
/// };
/// assert_eq!(policy.evaluate(&request(2)), Decision::Allow);
/// assert_eq!(policy.evaluate(&request(1)), Decision::Deny);
/// # Ok::<(), callgate_core::policy::PolicyError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestPolicy {
    /// The syscall numbers of these rules are opcodes, and their verdicts decisions.
    rules: Vec<Rule>,
    default: Decision,
    endian: Endian,
}

/// One rule: requests with these opcodes get this decision if the condition holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestRule {
    /// The opcodes, as a set of numbers up to 255.
    pub opcodes: SyscallSet,
    /// The condition on the members of the request.
    pub when: Condition,
    /// The decision if the rule matches.
    pub decision: Decision,
}

impl RequestPolicy {
    /// A policy with these rules, and this decision for all other requests.
    ///
    /// # Errors
    /// If an opcode exceeds 255; if a condition has fields of syscalls, or of requests on machines of the other byte order,
    /// or compares the opcode, or compares with a variable or two members with each other.
    pub fn new(
        rules: Vec<RequestRule>,
        default: Decision,
        endian: Endian,
    ) -> Result<RequestPolicy, PolicyError> {
        let mut wrong = None;
        for rule in &rules {
            let last = rule.opcodes.ranges().last().map(|(_, last)| *last);
            if let Some(opcode) = last.filter(|last| *last > MAX_OPCODE) {
                wrong.get_or_insert(PolicyErrorKind::Opcode(opcode));
            }
            rule.when.for_each_leaf(&mut |leaf| {
                if let Shape::Fields(_) = leaf {
                    wrong.get_or_insert(PolicyErrorKind::Fields);
                }
            });
            rule.when.for_each_comparison(&mut |field, symbol| {
                if field.layout() != Layout::IoUring(endian) {
                    wrong.get_or_insert(PolicyErrorKind::OtherInput(field.layout()));
                } else if field.layout().selects(field.low_word()) {
                    wrong.get_or_insert(PolicyErrorKind::OpcodeInCondition);
                } else if symbol.is_some() {
                    wrong.get_or_insert(PolicyErrorKind::Variable);
                }
            });
        }
        if let Some(kind) = wrong {
            return Err(PolicyError(kind));
        }
        let rule = |RequestRule { opcodes, when, decision }| {
            let verdict = Verdict(Decision::value(decision));
            Rule { syscalls: opcodes, when, verdict }
        };
        Ok(RequestPolicy { rules: rules.into_iter().map(rule).collect(), default, endian })
    }

    /// The policy for requests of one opcode, which its conditions and the program made from it do not test. It means the
    /// same for them: the kernel runs a filter only for the opcode for which it is registered.
    #[must_use]
    pub fn for_opcode(&self, opcode: u8) -> RequestPolicy {
        let applies = |rule: &&Rule| rule.syscalls.contains(u32::from(opcode));
        let any = |rule: &Rule| Rule { syscalls: SyscallSet::range(0, MAX_OPCODE), ..rule.clone() };
        RequestPolicy { rules: self.rules.iter().filter(applies).map(any).collect(), ..*self }
    }

    /// The rules; numbers of syscalls are opcodes, and verdicts the values of decisions.
    pub(crate) fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// The rules, in the order given.
    pub fn request_rules(&self) -> impl Iterator<Item = RequestRule> + '_ {
        self.rules.iter().map(|Rule { syscalls, when, verdict }| RequestRule {
            opcodes: syscalls.clone(),
            when: when.clone(),
            decision: IoUringRequest::verdict(verdict.0),
        })
    }

    /// The decision for requests that no rule matches.
    pub fn default_decision(&self) -> Decision {
        self.default
    }

    /// The byte order of the machines that this policy is for.
    pub fn endian(&self) -> Endian {
        self.endian
    }

    /// The decision for a request, evaluated directly from the rules. This is the definition of the meaning of a policy.
    pub fn evaluate(&self, request: &IoUringRequest) -> Decision {
        let matches = |rule: &&Rule| {
            rule.syscalls.contains(u32::from(request.opcode)) && rule.when.holds(request)
        };
        let rule = self.rules.iter().find(matches);
        rule.map_or(self.default, |rule| IoUringRequest::verdict(rule.verdict.0))
    }
}

#[cfg(test)]
mod tests {
    use crate::io_uring::Member;

    use super::super::comparison::{Field, Test};
    use super::super::section::Section;
    use super::super::{Policy, VariableRelation, VariableTest};
    use super::*;
    use crate::Arch;
    use crate::template::Symbol;

    fn flags(endian: Endian) -> Field {
        Field::of_request(Member::SqeFlags, endian)
    }

    fn allow(opcodes: SyscallSet, when: Condition) -> RequestRule {
        RequestRule { opcodes, when, decision: Decision::Allow }
    }

    fn policy(rules: Vec<RequestRule>) -> Result<RequestPolicy, PolicyError> {
        RequestPolicy::new(rules, Decision::Deny, Endian::Little)
    }

    #[test]
    fn the_first_match_decides() {
        let linked = Condition::test(Test::masked_eq(flags(Endian::Little), 4, 4));
        let deny = RequestRule { decision: Decision::Deny, ..allow(SyscallSet::one(1), linked) };
        let rules = vec![deny, allow(SyscallSet::range(0, 2), Condition::always())];
        let policy = policy(rules).unwrap();
        for (opcode, sqe_flags, decision) in [
            (1, 0, Decision::Allow),
            (1, 4, Decision::Deny),
            (2, 4, Decision::Allow),
            (3, 0, Decision::Deny),
        ] {
            let request = IoUringRequest { sqe_flags, ..IoUringRequest::new(opcode) };
            assert_eq!(policy.evaluate(&request), decision, "{opcode} {sqe_flags}");
            let other = IoUringRequest { opcode: 77, ..request };
            assert_eq!(policy.for_opcode(opcode).evaluate(&other), decision);
        }
    }

    #[test]
    fn a_policy_has_fields_of_its_own_input_only() {
        let of =
            |field| policy(vec![allow(SyscallSet::one(1), Condition::test(Test::eq(field, 1)))]);
        let error = |field| of(field).unwrap_err().to_string();
        assert!(of(flags(Endian::Little)).is_ok());
        assert!(error(flags(Endian::Big)).contains("big-endian"));
        assert!(error(Field::arg(0).unwrap()).contains("an argument of a syscall"));
        let rule = Rule {
            syscalls: SyscallSet::one(1),
            when: Condition::any([
                Condition::test(Test::eq(flags(Endian::Little), 1)),
                Condition::never(),
            ]),
            verdict: Verdict::ALLOW,
        };
        let section = Section::new(Arch::X86_64, vec![rule], Verdict::LOG);
        let error = Policy::new(vec![section], Verdict::LOG).unwrap_err().to_string();
        assert!(error.contains("io_uring requests on little-endian machines"), "{error}");
    }

    #[test]
    fn opcodes_have_eight_bits_and_there_are_no_variables() {
        let error = |rule| policy(vec![rule]).unwrap_err().to_string();
        assert!(policy(vec![allow(SyscallSet::range(0, 255), Condition::always())]).is_ok());
        let opcode = error(allow(SyscallSet::range(3, 256), Condition::always()));
        assert!(opcode.contains("opcode 256 does not exist"), "{opcode}");
        let of_opcode = Test::eq(Field::of_request(Member::Opcode, Endian::Little), 1);
        let of_opcode = error(allow(SyscallSet::one(1), Condition::test(of_opcode)));
        assert!(of_opcode.contains("compares the opcode"), "{of_opcode}");
        let relation = VariableRelation::AnyBit;
        let variable = VariableTest::new(flags(Endian::Little), relation, Symbol::new(0));
        let variable = error(allow(SyscallSet::one(1), Condition::variable(variable)));
        assert!(variable.contains("variable"), "{variable}");
    }
}
