//! The proof by cases: a second, quicker way to prove that a program means what a policy says, for policies and programs
//! without unusual conditions.
//!
//! It needs no MTBDD. A policy becomes [`Cases`]: intervals of syscall numbers, each with an ordered list of [`Clause`]s,
//! which are conjunctions of [comparisons of words](WordTest). For each interval, the proof follows every path of the
//! program that a syscall of this interval may take, and collects what the branches say about the words. At each return, the
//! clauses are evaluated with that knowledge: every clause that may be the first to hold must have the returned verdict.
//! Where the knowledge does not suffice, the case is split in two.
//!
//! All of this errs on the safe side: what is not known counts as possible. So the result is either a proof, or nothing, which
//! says nothing about the program. [`Meaning::prove`](crate::Meaning::prove) then decides.
//!
//! - `clauses`: from the rules of a policy to clauses, each of which is stored once (`distinct`);
//! - `knowledge`: what is known about the words on a path;
//! - `follow`: the paths of a program.

mod clauses;
mod distinct;
mod follow;
mod knowledge;
mod word_test;

#[cfg(test)]
mod tests;

use callgate_bpf::data::Endian;
use callgate_bpf::verdict::Verdict;

pub use word_test::{Literal, WordTest};

/// A policy as cases.
///
/// ```
/// use callgate_bpf::{Arch, Insn, Op, Program, Verdict};
/// use callgate_proof::Cases;
/// use callgate_proof::policy::{Condition, Policy, Rule, Section, SyscallSet};
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
/// assert!(cases.prove(&program(1)?));
/// assert!(!cases.prove(&program(2)?));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Cases {
    sections: Vec<SectionCases>,
    /// Different clauses.
    clauses: Vec<Clause>,
    /// Different lists of indexes of clauses. The last clause of each list always holds.
    lists: Vec<Vec<usize>>,
    bad_arch: Verdict,
    endian: Endian,
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

/// A conjunction, and the verdict of the syscalls for which it is the first to hold.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Clause {
    /// All of these must hold.
    pub literals: Vec<Literal>,
    /// The verdict.
    pub verdict: Verdict,
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

    /// The clauses of a list; none if there is no such list. The first that holds decides, and the last one always holds.
    pub fn list(&self, list: usize) -> impl Iterator<Item = &Clause> {
        let indexes = self.lists.get(list).map_or(&[][..], Vec::as_slice);
        indexes.iter().filter_map(|index| self.clauses.get(*index))
    }

    /// The verdict of a list that does not depend on arguments.
    pub fn verdict(&self, list: usize) -> Option<Verdict> {
        let first = self.list(list).next()?;
        first.literals.is_empty().then_some(first.verdict)
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
