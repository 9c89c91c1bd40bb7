//! The clauses of a policy.

use crate::Verdict;

use super::distinct::Indexes;
use super::word_comparison::Literal;

/// A conjunction, and the verdict of the syscalls for which it is the first to hold. Where one without verdict holds, it excludes what
/// a rule demands: the clauses after it, up to the next one with a verdict, do not count, nor does that one, which has no literals.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Clause<'c> {
    /// All of these must hold.
    pub literals: &'c [Literal],
    /// The verdict; `None` for a clause that excludes others.
    pub verdict: Option<Verdict>,
}

/// Distinct clauses with consecutive indexes.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct ClauseTable {
    /// The literals of all clauses, those of each in order.
    pub(super) literals: Vec<Literal>,
    clauses: Vec<Entry>,
    indexes: Indexes,
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Entry {
    /// Where its literals start.
    start: usize,
    end: usize,
    verdict: Option<Verdict>,
}

impl ClauseTable {
    pub(super) fn get(&self, clause: usize) -> Option<Clause<'_>> {
        let Entry { start, end, verdict } = *self.clauses.get(clause)?;
        Some(Clause { literals: self.literals.get(start..end)?, verdict })
    }

    /// Whether a clause has a verdict and always holds.
    pub(super) fn is_always(&self, clause: usize) -> bool {
        self.get(clause).is_some_and(|one| one.literals.is_empty() && one.verdict.is_some())
    }

    pub(super) fn verdict(&self, clause: usize) -> Option<Verdict> {
        self.get(clause)?.verdict
    }

    /// The index of the clause with these literals, which are in order.
    pub(super) fn index(&mut self, literals: Vec<Literal>, verdict: Option<Verdict>) -> usize {
        let start = self.literals.len();
        self.literals.extend(literals);
        self.index_of(start, verdict)
    }

    /// The index of the clause with the literals from `start` on, which are in order. If it is known, they are removed.
    pub(super) fn index_of(&mut self, start: usize, verdict: Option<Verdict>) -> usize {
        let literals = self.literals.get(start..).unwrap_or_default();
        let clause = Clause { literals, verdict };
        if let Some(index) = self.indexes.find(&clause, |index| self.get(index) == Some(clause)) {
            self.literals.truncate(start);
            return index;
        }
        self.clauses.push(Entry { start, end: self.literals.len(), verdict });
        self.indexes.add(&clause)
    }
}
