//! The plain program of a policy: a direct translation, section by section, rule by rule, test by test.
//!
//! It shares, reorders and omits nothing, and uses neither the diagram nor the code generator: the fuzzer compares
//! optimized programs with it. It is longer, often much longer, and may exceed the kernel's limit. Where many rules of a
//! syscall compare many arguments it is the shorter one, because an optimized program tests no rule twice; the compiler
//! then proves and returns it.
//!
//! It is emitted backwards, so that every target is known when a jump to it is emitted. If a target is out of reach, the
//! branch gets a trampoline: a `ja` directly after it.

use callgate_core::diagram::DiagramError;
use callgate_core::policy::{
    Cmp, Condition, Field, FieldTest, Policy, Section, Shape, Test, VariableRelation,
};
use callgate_core::{Endian, Insn, MAX_INSNS, Op, Program, SyscallSet, Verdict, Word};

/// Why a policy has no plain program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PlainProgramError(Kind);

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    TooLong { given: usize },
    Variables,
}

impl PlainProgramError {
    /// The number of instructions that it would have, if the kernel accepts fewer.
    pub fn insns_needed(&self) -> Option<usize> {
        match self.0 {
            Kind::TooLong { given } => Some(given),
            Kind::Variables => None,
        }
    }
}

impl std::fmt::Display for PlainProgramError {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.0 {
            Kind::TooLong { given } => {
                write!(f, "{given} instructions, but the kernel accepts at most {MAX_INSNS}")
            }
            Kind::Variables => DiagramError::VARIABLES.fmt(f),
        }
    }
}

impl std::error::Error for PlainProgramError {}

/// The plain program of a policy.
///
/// ```
/// use callgate::fuzz::plain_program;
/// use callgate_core::SyscallSet;
/// use callgate_core::policy::{Condition, Policy, Rule, Section};
/// use callgate::{Arch, SeccompData, Verdict};
///
/// let rule = |nr| Rule { syscalls: SyscallSet::one(nr), when: Condition::always(), verdict: Verdict::ALLOW };
/// let section = Section::new(Arch::X86_64, vec![rule(0), rule(2)], Verdict::errno(1));
/// let policy = Policy::new(vec![section], Verdict::KILL_PROCESS)?;
/// let program = plain_program(&policy)?;
/// let data = SeccompData { nr: 2, arch: Arch::X86_64.token(), ..SeccompData::default() };
/// assert_eq!(program.run(&data, policy.endian()).verdict, policy.evaluate(&data));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// If it is longer than the kernel accepts, or the policy has variables.
pub fn plain_program(policy: &Policy) -> Result<Program, PlainProgramError> {
    if !policy.variables().is_empty() {
        return Err(PlainProgramError(Kind::Variables));
    }
    let mut writer = Writer { reversed: Vec::new(), endian: policy.endian() };
    let mut other = writer.push(Op::RetK, policy.bad_arch().0);
    for section in policy.sections().iter().rev() {
        let start = writer.section(section);
        other = writer.branch(Op::JeqK, section.token(), start, other);
        // Loaded for each section, because a section overwrites A.
        other = writer.load(other, Word::ARCH);
    }
    let given = writer.reversed.len();
    let too_long = PlainProgramError(Kind::TooLong { given });
    if given > MAX_INSNS {
        return Err(too_long);
    }
    let insns = writer.reversed.into_iter().rev().collect();
    // By construction, only the length can violate the kernel's rules.
    Program::new(insns).map_err(|_| too_long)
}

/// A position: the number of instructions from there to the end.
#[derive(Clone, Copy)]
struct Place(usize);

struct Writer {
    /// The last instruction first.
    reversed: Vec<Insn>,
    endian: Endian,
}

impl Writer {
    fn here(&self) -> Place {
        Place(self.reversed.len())
    }

    fn push(&mut self, op: Op, k: u32) -> Place {
        self.reversed.push(Insn::new(op, k));
        self.here()
    }

    /// The displacement of a position from the instruction that is emitted next.
    fn distance(&self, to: Place) -> usize {
        self.reversed.len().saturating_sub(to.0)
    }

    /// Ensures that the next emitted instruction falls through to `next`, with a jump if necessary.
    fn continue_at(&mut self, next: Place) {
        match self.distance(next) {
            0 => {}
            far => {
                self.push(Op::Ja, far as u32);
            }
        }
    }

    fn branch(&mut self, op: Op, k: u32, then: Place, otherwise: Place) -> Place {
        let reachable = |writer: &mut Writer, to: Place, room: usize| {
            if writer.distance(to) > usize::from(u8::MAX) - room {
                writer.continue_at(to);
                writer.here()
            } else {
                to
            }
        };
        // The second trampoline may push the first target one further away.
        let then = reachable(self, then, 1);
        let otherwise = reachable(self, otherwise, 0);
        let (jt, jf) = (self.distance(then) as u8, self.distance(otherwise) as u8);
        self.reversed.push(Insn::branch(op, k, jt, jf));
        self.here()
    }

    /// A load before the code at `next`.
    fn load(&mut self, next: Place, word: Word) -> Place {
        self.continue_at(next);
        self.push(Op::LdWordAbs, word.offset(self.endian))
    }

    fn section(&mut self, section: &Section) -> Place {
        let mut next = self.push(Op::RetK, section.default.0);
        for rule in section.rules.iter().rev() {
            let body = self.rule_body(&rule.when, rule.verdict, next);
            next = self.numbers(&rule.syscalls, body, next);
        }
        next
    }

    fn rule_body(&mut self, when: &Condition, verdict: Verdict, next: Place) -> Place {
        let ret = self.push(Op::RetK, verdict.0);
        self.condition(when, ret, next)
    }

    /// Branches to `inside` for the numbers of the set.
    fn numbers(&mut self, syscalls: &SyscallSet, inside: Place, outside: Place) -> Place {
        let mut next = outside;
        for &(first, last) in syscalls.ranges().iter().rev() {
            next = if first == last {
                self.branch(Op::JeqK, first, inside, next)
            } else {
                let below_last = self.branch(Op::JgtK, last, next, inside);
                self.branch(Op::JgeK, first, below_last, next)
            };
        }
        self.load(next, Word::NR)
    }

    fn condition(&mut self, condition: &Condition, yes: Place, no: Place) -> Place {
        match condition.shape() {
            Shape::All(parts) => {
                parts.iter().rev().fold(yes, |yes, part| self.condition(part, yes, no))
            }
            Shape::Any(parts) => {
                parts.iter().rev().fold(no, |no, part| self.condition(part, yes, no))
            }
            Shape::Test(test) => self.test(test, yes, no),
            // A policy whose conditions compare with variables declares them, so it has no plain program.
            Shape::Variable(test) => self.test(&test.given(&[]), yes, no),
            Shape::Fields(test) => self.fields(test, yes, no),
        }
    }

    fn fields(&mut self, test: &FieldTest, yes: Place, no: Place) -> Place {
        let (op, yes, no) = match test.relation {
            VariableRelation::Cmp(Cmp::Eq) => (Op::JeqX, yes, no),
            VariableRelation::Cmp(Cmp::Ne) => (Op::JeqX, no, yes),
            VariableRelation::Cmp(Cmp::Gt) => (Op::JgtX, yes, no),
            VariableRelation::Cmp(Cmp::Ge) => (Op::JgeX, yes, no),
            VariableRelation::Cmp(Cmp::Le) => (Op::JgtX, no, yes),
            VariableRelation::Cmp(Cmp::Lt) => (Op::JgeX, no, yes),
            VariableRelation::AnyBit => (Op::JsetX, yes, no),
            VariableRelation::NoBit => (Op::JsetX, no, yes),
        };
        let fields = [test.left, test.right];
        let lower = self.branch(op, 0, yes, no);
        let lower = self.both(lower, fields.map(|field| Some(field.low_word())));
        let high = fields.map(Field::high_word);
        if high == [None, None] {
            return lower;
        }
        let upper = match op {
            Op::JsetX => self.branch(Op::JsetX, 0, yes, lower),
            Op::JeqX => self.branch(Op::JeqX, 0, lower, no),
            _ => {
                let upper = self.branch(Op::JeqX, 0, lower, no);
                self.branch(Op::JgtX, 0, yes, upper)
            }
        };
        self.both(upper, high)
    }

    /// The left word in A and the right one in X; a missing high half is zero.
    fn both(&mut self, next: Place, [left, right]: [Option<Word>; 2]) -> Place {
        self.half(next, left, u32::MAX);
        self.push(Op::Tax, 0);
        self.half(self.here(), right, u32::MAX)
    }

    fn test(&mut self, test: &Test, yes: Place, no: Place) -> Place {
        let (high, low) = ((test.value >> 32) as u32, test.value as u32);
        // The high halves decide unless they are equal.
        let (op, yes, no) = match test.cmp {
            Cmp::Eq => (Op::JeqK, yes, no),
            Cmp::Ne => (Op::JeqK, no, yes),
            Cmp::Gt => (Op::JgtK, yes, no),
            Cmp::Ge => (Op::JgeK, yes, no),
            Cmp::Le => (Op::JgtK, no, yes),
            Cmp::Lt => (Op::JgeK, no, yes),
        };
        let lower = self.branch(op, low, yes, no);
        let lower = self.half(lower, Some(test.field.low_word()), test.mask as u32);
        if high == 0 && test.field.high_word().is_none() {
            return lower;
        }
        let mut upper = self.branch(Op::JeqK, high, lower, no);
        if op != Op::JeqK {
            upper = self.branch(Op::JgtK, high, yes, upper);
        }
        self.half(upper, test.field.high_word(), (test.mask >> 32) as u32)
    }

    /// A masked half of a field; a missing high half is zero.
    fn half(&mut self, next: Place, word: Option<Word>, mask: u32) -> Place {
        self.continue_at(next);
        if mask != u32::MAX {
            self.push(Op::AndK, mask);
        }
        match word {
            Some(word) => self.push(Op::LdWordAbs, word.offset(self.endian)),
            None => self.push(Op::LdImm, 0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Arch, Filter, arg, var};

    #[test]
    fn a_policy_with_variables_has_no_plain_program() {
        let builder = Filter::builder(Arch::X86_64);
        let filter = builder.allow_if("read", arg("fd").eq(var("fd"))).unwrap().build().unwrap();
        let error = plain_program(filter.policy()).unwrap_err();
        assert_eq!(error, PlainProgramError(Kind::Variables));
        assert!(plain_program(&filter.policy().given(&[3]).unwrap()).is_ok());
    }
}
