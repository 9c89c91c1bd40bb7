//! Cases, and their parts.

use crate::{Endian, Verdict};

use super::clause_table::{Clause, ClauseTable};
use crate::policy::Policy;

/// A policy as cases.
///
/// ```
/// use callgate_core::{Arch, Insn, Op, Program, Verdict};
/// use callgate_core::Cases;
/// use callgate_core::SyscallSet;
/// use callgate_core::policy::{Condition, Policy, Rule, Section};
///
/// let token = Arch::X86_64.token();
/// let deny = Rule { syscalls: SyscallSet::one(59), when: Condition::always(), verdict: Verdict::errno(1) };
/// let section = Section::new(Arch::X86_64, vec![deny], Verdict::ALLOW);
/// let policy = Policy::new(vec![section], Verdict::KILL_PROCESS)?;
///
/// let program = |errno| Program::new(vec![
///     Insn::new(Op::LdWordAbs, 4), // A = arch
///     Insn::branch(Op::JeqK, token, 1, 0),
///     Insn::new(Op::RetK, Verdict::KILL_PROCESS.0),
///     Insn::new(Op::LdWordAbs, 0), // A = nr
///     Insn::branch(Op::JeqK, 59, 0, 1),
///     Insn::new(Op::RetK, Verdict::errno(errno).0),
///     Insn::new(Op::RetK, Verdict::ALLOW.0),
/// ]);
/// let cases = Cases::of_policy(&policy).expect("the rules have no unusual conditions");
/// assert!(cases.proves(&program(1)?));
/// assert!(!cases.proves(&program(2)?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Cases {
    pub(super) sections: Vec<SectionCases>,
    /// Different clauses.
    pub(super) clauses: ClauseTable,
    /// Different lists of indexes of clauses. The last clause of each list always holds.
    pub(super) lists: Vec<Vec<usize>>,
    pub(super) bad_arch: Verdict,
    pub(super) endian: Endian,
    /// What the cases were made of.
    pub(super) policy: Policy,
}

/// The cases of one arch token.
#[derive(Clone, Debug, PartialEq)]
pub struct SectionCases {
    /// The arch token.
    pub token: u32,
    /// All numbers, in order.
    pub intervals: Vec<NumberInterval>,
}

/// Consecutive syscall numbers for which the same clauses apply.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct NumberInterval {
    /// The first number.
    pub first: u32,
    /// The last number.
    pub last: u32,
    /// The list of clauses; see [`Cases::list`].
    pub list: usize,
}

impl Cases {
    /// The sections, in the order of the policy.
    pub fn sections(&self) -> &[SectionCases] {
        &self.sections
    }

    /// The number of lists of clauses.
    pub fn lists(&self) -> usize {
        self.lists.len()
    }

    /// The clauses of a list; none if there is no such list. The first that holds decides, or [excludes](Clause) some of those after
    /// it, and the last one always holds.
    pub fn list(&self, list: usize) -> impl Iterator<Item = Clause<'_>> {
        let indexes = self.lists.get(list).map_or(&[][..], Vec::as_slice);
        indexes.iter().filter_map(|index| self.clauses.get(*index))
    }

    /// The verdict of a list that does not depend on arguments.
    pub fn verdict(&self, list: usize) -> Option<Verdict> {
        let first = self.list(list).next()?;
        first.literals.is_empty().then_some(first.verdict)?
    }

    /// The verdict for a syscall that does not depend on arguments.
    pub(super) fn verdict_of(&self, token: u32, nr: u32) -> Option<Verdict> {
        let Some(section) = self.sections.iter().find(|section| section.token == token) else {
            return Some(self.bad_arch);
        };
        let at = section.intervals.partition_point(|interval| interval.last < nr);
        self.verdict(section.intervals.get(at)?.list)
    }

    /// The verdict for all other arch tokens.
    pub fn bad_arch(&self) -> Verdict {
        self.bad_arch
    }

    /// The byte order of the machines that the filter is for.
    pub fn endian(&self) -> Endian {
        self.endian
    }
}
