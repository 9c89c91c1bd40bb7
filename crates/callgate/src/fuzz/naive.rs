//! The plain program of a policy: section by section, rule by rule, test by test, as one would write
//! it down by hand.
//!
//! Nothing is shared, reordered or left out, and nothing of the diagram or the code generator is used:
//! this is the program that optimized ones are compared with. It is longer, often by far, and may be
//! longer than the kernel accepts.
//!
//! Written from the end to the front, so that every target is known when a jump to it is written; where
//! it is out of reach, a `ja` stands right behind the branch.

use callgate_bpf::data::{Endian, Word};
use callgate_bpf::verdict::Verdict;
use callgate_bpf::{Insn, MAX_INSNS, Op, Program};
use callgate_proof::policy::{CallSet, Cmp, Condition, Policy, Section, Shape, Test};

/// Why a policy has no plain program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TooLong {
    given: usize,
}

impl TooLong {
    /// How many instructions it would have.
    pub fn given(&self) -> usize {
        self.given
    }
}

impl std::fmt::Display for TooLong {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} instructions, the kernel accepts {MAX_INSNS}", self.given)
    }
}

impl std::error::Error for TooLong {}

/// The plain program of a policy.
///
/// ```
/// use callgate::fuzz::plain_program;
/// use callgate::policy::{CallSet, Condition, Policy, Rule, Section};
/// use callgate::{Arch, SeccompData, Verdict};
///
/// let rule = |nr| Rule { calls: CallSet::one(nr), when: Condition::always(), verdict: Verdict::ALLOW };
/// let section = Section::new(Arch::X86_64, vec![rule(0), rule(2)], Verdict::errno(1));
/// let policy = Policy::new(vec![section], Verdict::KILL_PROCESS)?;
/// let program = plain_program(&policy)?;
/// let data = SeccompData { nr: 2, arch: Arch::X86_64.token(), ..SeccompData::default() };
/// assert_eq!(program.run(&data, policy.endian()).verdict, policy.evaluate(&data));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// When it is longer than the kernel accepts; the error says how long.
pub fn plain_program(policy: &Policy) -> Result<Program, TooLong> {
    let mut writer = Writer { reversed: Vec::new(), endian: policy.endian() };
    let mut other = writer.push(Op::RetK, policy.bad_arch().0);
    for section in policy.sections().iter().rev() {
        let start = writer.section(section);
        other = writer.branch(Op::JeqK, section.token(), start, other);
        // For each section anew, so that a section's own loads do not matter.
        other = writer.load(other, Word::ARCH);
    }
    let given = writer.reversed.len();
    if given > MAX_INSNS {
        return Err(TooLong { given });
    }
    let insns = writer.reversed.into_iter().rev().collect();
    // Every rule of the kernel is kept by construction but the length.
    Program::new(insns).map_err(|_| TooLong { given })
}

/// A place in the program: how many instructions follow it, itself included.
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

    /// How many instructions lie between the one that is written next and a place.
    fn distance(&self, to: Place) -> usize {
        self.reversed.len().saturating_sub(to.0)
    }

    /// What is written so far goes on at `next`: a jump when that is not what comes first.
    fn go_on(&mut self, next: Place) {
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
                writer.go_on(to);
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

    /// A load in front of the code at `next`.
    fn load(&mut self, next: Place, word: Word) -> Place {
        self.go_on(next);
        self.push(Op::LdWordAbs, word.offset(self.endian))
    }

    fn section(&mut self, section: &Section) -> Place {
        let mut next = self.push(Op::RetK, section.default.0);
        for rule in section.rules.iter().rev() {
            let body = self.rule_body(&rule.when, rule.verdict, next);
            next = self.numbers(&rule.calls, body, next);
        }
        next
    }

    fn rule_body(&mut self, when: &Condition, verdict: Verdict, next: Place) -> Place {
        let ret = self.push(Op::RetK, verdict.0);
        self.condition(when, ret, next)
    }

    /// Goes to `inside` for the numbers of the set.
    fn numbers(&mut self, calls: &CallSet, inside: Place, outside: Place) -> Place {
        let mut next = outside;
        for &(first, last) in calls.ranges().iter().rev() {
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
        }
    }

    fn test(&mut self, test: &Test, yes: Place, no: Place) -> Place {
        let (high, low) = ((test.value >> 32) as u32, test.value as u32);
        // Whether the high halves decide; else it is up to the low ones.
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
        let mut upper = self.branch(Op::JeqK, high, lower, no);
        if op != Op::JeqK {
            upper = self.branch(Op::JgtK, high, yes, upper);
        }
        self.half(upper, test.field.high_word(), (test.mask >> 32) as u32)
    }

    /// Half of a field under a mask; a field without a high half has zeros there.
    fn half(&mut self, next: Place, word: Option<Word>, mask: u32) -> Place {
        self.go_on(next);
        if mask != u32::MAX {
            self.push(Op::AndK, mask);
        }
        match word {
            Some(word) => self.push(Op::LdWordAbs, word.offset(self.endian)),
            None => self.push(Op::LdImm, 0),
        }
    }
}
