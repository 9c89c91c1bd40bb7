//! Clauses as lists of the indexes of their literals, each of which is stored once.

use callgate_core::{Clause, Literal, Verdict, Word, WordTest};
use rustc_hash::FxHashMap as HashMap;

/// The maximum number of literals of a clause: the halves of six arguments.
pub(super) const MAX_LITERALS: usize = 12;

/// The index of a literal.
pub(super) type LiteralId = u16;

/// A clause, or what remains of it: literals of the words that are not yet tested.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Remaining {
    /// The literals, and then zeros.
    literals: [LiteralId; MAX_LITERALS],
    pub(super) count: u16,
    pub(super) verdict: Verdict,
}

impl Remaining {
    pub(super) fn new(verdict: Verdict) -> Remaining {
        Remaining { literals: [0; MAX_LITERALS], count: 0, verdict }
    }

    pub(super) fn ids(&self) -> &[LiteralId] {
        &self.literals[..usize::from(self.count)]
    }

    pub(super) fn is_always(&self) -> bool {
        self.count == 0
    }

    /// `None` if there are too many literals.
    pub(super) fn push(&mut self, literal: LiteralId) -> Option<()> {
        *self.literals.get_mut(usize::from(self.count))? = literal;
        self.count += 1;
        Some(())
    }
}

/// Different literals.
#[derive(Default)]
pub(super) struct Literals {
    literals: Vec<Literal>,
    index: HashMap<Literal, LiteralId>,
}

impl Literals {
    /// A clause; `None` if it has no verdict or too many literals, or if there are too many different ones.
    pub(super) fn clause(&mut self, clause: Clause<'_>) -> Option<Remaining> {
        let mut remaining = Remaining::new(clause.verdict?);
        for literal in clause.literals {
            remaining.push(self.id(*literal)?)?;
        }
        Some(remaining)
    }

    pub(super) fn id(&mut self, literal: Literal) -> Option<LiteralId> {
        if let Some(id) = self.index.get(&literal) {
            return Some(*id);
        }
        let id = LiteralId::try_from(self.literals.len()).ok()?;
        self.literals.push(literal);
        self.index.insert(literal, id);
        Some(id)
    }

    /// The literals of a clause.
    pub(super) fn of<'l>(
        &'l self,
        clause: &'l Remaining,
    ) -> impl Iterator<Item = &'l Literal> + Clone {
        clause.ids().iter().map(|id| &self.literals[usize::from(*id)])
    }

    /// The clause with those literals for which `keep` returns true.
    pub(super) fn with(&self, clause: &Remaining, keep: impl Fn(&Literal) -> bool) -> Remaining {
        let mut remaining = Remaining::new(clause.verdict);
        for id in clause.ids().iter().filter(|id| keep(&self.literals[usize::from(**id)])) {
            remaining.literals[usize::from(remaining.count)] = *id;
            remaining.count += 1;
        }
        remaining
    }
}

/// Removes the last clauses if they have the verdict of the one after them, which always holds.
pub(super) fn remove_last(clauses: &mut Vec<Remaining>, verdict: Verdict) {
    while clauses.last().is_some_and(|clause| clause.verdict == verdict) {
        clauses.pop();
    }
}

/// Whether a literal demands that a high half is 0.
pub(super) fn is_guard(literal: &Literal) -> bool {
    let is_high = literal.test.word.argument().is_some_and(|(_, is_high)| is_high);
    is_high && literal.holds && literal.test == of_zero(literal.test.word)
}

/// The test whether a word is 0.
pub(super) fn of_zero(word: Word) -> WordTest {
    WordTest { word, mask: u32::MAX, is_order: false, value: 0 }
}
