//! Code that tests clauses in their order. It is about as long as the clauses together.

use callgate_core::{Clause, Literal, Verdict, Word, WordTest};

/// What makes code, from its end on.
pub(super) trait Emit {
    /// Where code starts.
    type At: Copy;

    /// The return of a verdict.
    fn returned(&mut self, verdict: Verdict) -> Self::At;

    /// A test of a word that A holds, with the code if it holds and if not.
    fn tested(&mut self, test: WordTest, targets: [Self::At; 2]) -> Option<Self::At>;

    /// A load before the latest code, which needs the word in A.
    fn loaded(&mut self, word: Word, next: Self::At) -> Option<Self::At>;

    /// Whether A still holds the word after a test.
    fn keeps(&self, test: WordTest) -> bool;
}

/// Code that starts with a test.
#[derive(Clone, Copy)]
struct Entry<At> {
    /// The code that loads the word.
    at: At,
    /// The word, and the code where A holds it.
    held: Option<(Word, At)>,
}

/// A literal, its code, and the code where it does not hold.
struct Step<At> {
    literal: Literal,
    entry: Entry<At>,
    fails: Entry<At>,
}

/// The code of a clause: that of its literals, and what follows if all of them hold.
struct Steps<At> {
    steps: Vec<Step<At>>,
    then: Entry<At>,
}

/// The code of these clauses, the last of which always holds; `None` if it cannot be made.
pub(super) fn in_order<E: Emit>(emit: &mut E, clauses: &[Clause<'_>]) -> Option<E::At> {
    let (last, clauses) = clauses.split_last()?;
    let then = of_code(emit.returned(last.verdict?));
    let mut next = Steps { steps: Vec::new(), then };
    let mut next_excludes = false;
    // Behind the verdict of the rule at hand.
    let mut excluded = None;
    for clause in clauses.iter().rev() {
        let then = match clause.verdict {
            Some(verdict) => {
                // Rules with clauses that exclude them load their first word: ends of a program are proved from a load on.
                let start = next.start();
                if next_excludes {
                    next = Steps { steps: Vec::new(), then: of_code(start) };
                }
                excluded = Some(start);
                emit.returned(verdict)
            }
            None => excluded?,
        };
        next_excludes = clause.verdict.is_none();
        next = of_clause(emit, clause, of_code(then), &next)?;
    }
    Some(next.start())
}

/// Code that is not entered with a word in A.
fn of_code<At>(at: At) -> Entry<At> {
    Entry { at, held: None }
}

impl<At: Copy> Steps<At> {
    fn start(&self) -> At {
        self.after(&[], None).at
    }

    /// The code where some literals hold and one does not, without tests that these decide.
    fn after(&self, holding: &[Literal], failing: Option<Literal>) -> Entry<At> {
        for Step { literal, entry, fails } in &self.steps {
            if failing == Some(*literal) {
                return *fails;
            }
            let fails_as_opposite = failing.is_some_and(|one| one.test == literal.test);
            if !fails_as_opposite && !holding.contains(literal) {
                return *entry;
            }
        }
        self.then
    }
}

/// The code of a clause: what follows if it holds, and the code of the next clause. That high halves are 0 is tested last, because
/// then clauses and lists share this code.
fn of_clause<E: Emit>(
    emit: &mut E,
    clause: &Clause<'_>,
    then: Entry<E::At>,
    next: &Steps<E::At>,
) -> Option<Steps<E::At>> {
    let is_last = |literal: &&Literal| clause.verdict.is_some() && is_guard(literal);
    let first = clause.literals.iter().filter(|literal| !is_last(literal));
    let literals = first.chain(clause.literals.iter().filter(is_last));
    let literals: Vec<Literal> = literals.copied().collect();
    let mut steps: Vec<Step<E::At>> = Vec::with_capacity(literals.len());
    let mut entry = then;
    for (at, literal) in literals.iter().enumerate().rev() {
        let Literal { test, holds } = *literal;
        let keeps = emit.keeps(test);
        let behind = |entry: Entry<E::At>| match entry.held {
            Some((word, at)) if keeps && word == test.word => at,
            _ => entry.at,
        };
        let fails = next.after(literals.get(..at)?, Some(*literal));
        let (if_held, if_not) = (behind(entry), behind(fails));
        let targets = if holds { [if_held, if_not] } else { [if_not, if_held] };
        let own = emit.tested(test, targets)?;
        entry = Entry { at: emit.loaded(test.word, own)?, held: Some((test.word, own)) };
        steps.push(Step { literal: *literal, entry, fails });
    }
    steps.reverse();
    Some(Steps { steps, then })
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
