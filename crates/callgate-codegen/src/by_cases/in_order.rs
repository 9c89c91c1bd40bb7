//! Code that tests clauses in their order. It is about as long as the clauses together.

use callgate_core::{Clause, Literal, Verdict, Word, WordTest};

use super::literals::is_guard;

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

/// The code of a clause: that of its literals, and what follows if all of them hold.
struct Steps<At> {
    steps: Vec<(Literal, Entry<At>)>,
    then: Entry<At>,
}

/// Whether clauses are tested in their order by any plan: those that exclude a rule, and those without a test in common and without two
/// values of the same word, which could be searched for.
pub(super) fn are_apart(clauses: &[Clause<'_>]) -> bool {
    let mut words_with_values = 0u16;
    let mut seen: Vec<WordTest> = Vec::new();
    let is_new = |clause: &Clause<'_>| {
        let start = seen.len();
        clause.literals.iter().filter(|literal| !is_guard(literal)).all(|literal| {
            let word = if is_value(literal) { 1 << literal.test.word.index() } else { 0 };
            let is_new = words_with_values & word == 0
                && !seen.iter().take(start).any(|known| *known == literal.test);
            words_with_values |= word;
            seen.push(literal.test);
            is_new
        })
    };
    clauses.iter().any(|clause| clause.verdict.is_none()) || clauses.iter().all(is_new)
}

/// How many literals compare each word.
type Counts = [u32; Word::COUNT];

/// The code of these clauses, the last of which always holds; `None` if it cannot be made.
pub(super) fn in_order<E: Emit>(emit: &mut E, clauses: &[Clause<'_>]) -> Option<E::At> {
    let mut counts: Counts = [0; Word::COUNT];
    let words = clauses.iter().flat_map(|clause| clause.literals).map(|one| one.test.word);
    words.for_each(|word| counts.iter_mut().skip(word.index()).take(1).for_each(|one| *one += 1));
    // The clauses behind, the next one last.
    let mut behind: Vec<Steps<E::At>> = Vec::with_capacity(clauses.len());
    let mut next_excludes = false;
    // Behind the verdict of the rule at hand.
    let mut excluded = None;
    for clause in clauses.iter().rev() {
        let then = match clause.verdict {
            Some(verdict) => {
                excluded = after(&behind, &[], None).map(|entry| entry.at);
                // Rules with clauses that exclude them load their first word: ends of a program are proved from a load on.
                if next_excludes {
                    behind.clear();
                    behind.push(Steps { steps: Vec::new(), then: of_code(excluded?) });
                }
                emit.returned(verdict)
            }
            None => excluded?,
        };
        next_excludes = clause.verdict.is_none();
        let steps = of_clause(emit, clause, of_code(then), &behind, &counts)?;
        behind.push(steps);
    }
    after(&behind, &[], None).map(|entry| entry.at)
}

/// Code that is not entered with a word in A.
fn of_code<At>(at: At) -> Entry<At> {
    Entry { at, held: None }
}

/// The code where some literals hold and one does not, without tests that these decide.
fn after<At: Copy>(
    behind: &[Steps<At>],
    holding: &[Literal],
    failing: Option<Literal>,
) -> Option<Entry<At>> {
    let may_hold = |clause: &&Steps<At>| clause.steps.iter().all(|(one, _)| failing != Some(*one));
    let Steps { steps, then } = behind.iter().rev().find(may_hold)?;
    let is_open = |(literal, _): &&(Literal, Entry<At>)| {
        !holding.contains(literal) && failing.is_none_or(|one| one.test != literal.test)
    };
    Some(steps.iter().find(is_open).map_or(*then, |(_, entry)| *entry))
}

/// The code of a clause: what follows if it holds, and the code of the next clause. Words that most clauses compare come first, because
/// A may hold them. That high halves are 0 is tested last, because then clauses and lists share this code.
fn of_clause<E: Emit>(
    emit: &mut E,
    clause: &Clause<'_>,
    then: Entry<E::At>,
    behind: &[Steps<E::At>],
    counts: &Counts,
) -> Option<Steps<E::At>> {
    let mut literals = clause.literals.to_vec();
    if clause.verdict.is_some() {
        let count = |one: &Literal| counts.get(one.test.word.index()).copied();
        literals.sort_by_key(|one| (is_guard(one), std::cmp::Reverse(count(one)), one.test.word));
    }
    let mut steps: Vec<(Literal, Entry<E::At>)> = Vec::with_capacity(literals.len());
    let mut entry = then;
    for (at, literal) in literals.iter().enumerate().rev() {
        let Literal { test, holds } = *literal;
        let keeps = emit.keeps(test);
        let entered = |entry: Entry<E::At>| match entry.held {
            Some((word, at)) if keeps && word == test.word => at,
            _ => entry.at,
        };
        let fails = after(behind, literals.get(..at)?, Some(*literal))?;
        let (if_held, if_not) = (entered(entry), entered(fails));
        let targets = if holds { [if_held, if_not] } else { [if_not, if_held] };
        let own = emit.tested(test, targets)?;
        entry = Entry { at: emit.loaded(test.word, own)?, held: Some((test.word, own)) };
        steps.push((*literal, entry));
    }
    steps.reverse();
    Some(Steps { steps, then })
}

/// Whether a literal demands a value of a whole word.
pub(super) fn is_value(literal: &Literal) -> bool {
    literal.holds && !literal.test.is_order && literal.test.mask == u32::MAX
}
