//! The word that the code of a list tests next, and for how many clauses the result of a test counts.

use callgate_core::{Literal, Word, WordTest, are_alternatives, is_informed};

use super::lists::{List, Lists, Repeated};
use super::literals::{LiteralId, MAX_LITERALS, Remaining, is_guard};

/// A test that no clause has: it always holds.
const NO_TEST: WordTest = WordTest { word: Word::NR, mask: 0, is_order: false, value: 0 };

/// Among how many clauses those are counted that have a test in common.
const MAX_NEAR: usize = 64;

impl Lists<'_> {
    /// The word to be tested next: one of the first clause that most clauses test. High halves that must be 0 come last,
    /// because then all lists share the code that tests them.
    ///
    /// Where tests may be repeated, the one that most of the next clauses have in common comes first. What all alternatives of a
    /// comparison of 64 bits demand comes before the rest: so both halves of an argument are tested before the next argument, and
    /// the alternatives are the same list again instead of one for each combination.
    pub(super) fn next_word(&self, list: &List) -> Option<Word> {
        let first = self.clauses(list).next()?;
        let most = if self.repeated == Repeated::No { usize::MAX } else { MAX_NEAR };
        let near = self.clauses(list).take(most);
        let mut counts = [0u32; 16];
        near.clone().for_each(|clause| {
            self.literals.of(clause).for_each(|one| counts[one.test.word.index()] += 1);
        });
        let count = |literal: &Literal| std::cmp::Reverse(counts[literal.test.word.index()]);
        if self.repeated == Repeated::No {
            let priority = |one: &&Literal| (is_guard(one), count(one), one.test.word);
            return self.literals.of(first).min_by_key(priority).map(|one| one.test.word);
        }
        let others = near.clone().skip(1);
        let is_alternative = |other: &&Remaining| self.are_alternatives(first, other);
        let alternatives = others.clone().take_while(is_alternative).count();
        let is_of_all = |id: LiteralId| {
            let mut alternatives = others.clone().take(alternatives);
            alternatives.all(|other| other.ids().contains(&id))
        };
        let informed = self.informed_each(first, others.clone());
        let mut best: Option<(_, Word)> = None;
        let of_first = first.ids().iter().zip(self.literals.of(first));
        for ((id, one), informed) in of_first.zip(informed) {
            let is_late = if alternatives > 0 { !is_of_all(*id) } else { is_guard(one) };
            let word = one.test.word;
            let priority = (std::cmp::Reverse(informed), is_late, count(one), word);
            if best.is_none_or(|(least, _)| priority < least) {
                best = Some((priority, word));
            }
        }
        best.map(|(_, word)| word)
    }

    /// [`Lists::informed`] for the test of each literal of the first clause. That two clauses are alternatives is found once.
    fn informed_each<'l>(
        &self,
        first: &Remaining,
        others: impl Iterator<Item = &'l Remaining>,
    ) -> [usize; MAX_LITERALS] {
        let mut counts = [1; MAX_LITERALS];
        let mut open = [true; MAX_LITERALS];
        let mut is_alone = None;
        for other in others {
            let alone = *is_alone.get_or_insert_with(|| !self.are_alternatives(first, other));
            let (of_first, of_other) = (self.literals.of(first), self.literals.of(other));
            let mut is_any_open = false;
            // Of the test of a word that no clause has, only alternatives are informed.
            let is_alternative = is_informed(NO_TEST, of_first.clone(), alone, of_other.clone());
            for ((one, count), open) in of_first.zip(&mut counts).zip(&mut open) {
                *open &= is_alternative || of_other.clone().any(|other| other.test == one.test);
                *count += usize::from(*open);
                is_any_open |= *open;
            }
            if !is_any_open {
                break;
            }
        }
        counts
    }

    /// Whether the values of a word are searched for: there are several tests of it, all of the whole word. Where tests are
    /// repeated, they compare it with single values, and are in all clauses, so that no clause is needed twice.
    pub(super) fn has_values(&self, list: &List, word: Word) -> bool {
        let is_value = |literal: &Literal| {
            literal.test.word == word && literal.holds && !literal.test.is_order
        };
        let has_value = |clause: &Remaining| self.literals.of(clause).any(is_value);
        let clauses = self.clauses(list);
        let is_tested = |clause: &&Remaining| !clause.is_always();
        if self.repeated == Repeated::Yes && !clauses.clone().filter(is_tested).all(has_value) {
            return false;
        }
        let literals = clauses.flat_map(|clause| self.literals.of(clause));
        let mut of_word = literals.filter(|literal| literal.test.word == word);
        let Some(first) = of_word.next() else { return false };
        let (mut are_whole, mut are_several) = (first.test.mask == u32::MAX, false);
        for literal in of_word {
            are_whole &= literal.test.mask == u32::MAX;
            are_several |= literal.test != first.test;
        }
        are_whole && are_several
    }

    /// Of how many clauses, the first ones, the result of a test is used. Where tests may be repeated, these are the ones of which a
    /// result removes literals or the whole clause: no other clause needs code for both results.
    pub(super) fn informed<'l>(
        &self,
        mut clauses: impl Iterator<Item = &'l Remaining> + Clone,
        test: WordTest,
    ) -> usize {
        let Some(first) = clauses.next() else { return 0 };
        if self.repeated == Repeated::No {
            return 1 + clauses.count();
        }
        let second = clauses.clone().next();
        let is_alone = second.is_none_or(|second| !self.are_alternatives(first, second));
        let is_informed = |other: &&Remaining| {
            is_informed(test, self.literals.of(first), is_alone, self.literals.of(other))
        };
        1 + clauses.take_while(is_informed).count()
    }

    fn are_alternatives(&self, one: &Remaining, other: &Remaining) -> bool {
        are_alternatives(self.literals.of(one), self.literals.of(other))
    }
}
