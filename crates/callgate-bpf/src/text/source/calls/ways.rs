//! Reads a text with each combination of answers to the conditions of its preprocessor about which nothing is known: two that lead
//! to different results are an error.

use super::super::read::{Facts, GivenNames, Prepared, Source};
use crate::asm::AsmError;
use callgate_core::Arch;

/// How often a text is read at most.
const MAX_READINGS: usize = 64;
/// The maximum number of tokens of all readings together.
const MAX_READ_TOKENS: usize = 4_000_000;

/// What a text is read for.
pub(super) trait Meaning {
    type Result;

    /// Reads the preprocessed tokens of a text.
    fn of(&self, source: &Source<'_, '_>, prepared: Prepared<'_>)
    -> Result<Self::Result, AsmError>;

    /// Whether two results are the same, so that the condition that makes the difference does not matter.
    fn is_same(&self, one: &Self::Result, other: &Self::Result) -> bool;

    /// Whether a result shows that other answers to the conditions of the text are meant.
    fn is_rejected(&self, result: &Self::Result) -> bool;

    /// Adds warnings of the preprocessor.
    fn warn(&self, result: &mut Self::Result, facts: &Facts);
}

/// The result of reading a text with one answer for each unknown condition.
struct Way<R> {
    result: Result<R, AsmError>,
    facts: Facts,
    is_rejected: bool,
}

/// Reads a text for an architecture.
///
/// # Errors
/// Those of the text, or if two combinations of answers lead to different results.
pub(super) fn read_each_way<M: Meaning>(
    source: &Source<'_, '_>,
    arch: Option<Arch>,
    meaning: &M,
) -> Result<M::Result, AsmError> {
    let way = |answers: &[bool]| {
        let read = |prepared: Prepared<'_>| meaning.of(source, prepared);
        let (mut result, facts) = source.prepared(arch, answers, GivenNames::Macros, read);
        if let Ok(result) = &mut result {
            meaning.warn(result, &facts);
        }
        let shows_others = result.as_ref().is_ok_and(|result| meaning.is_rejected(result));
        Way { is_rejected: facts.is_rejected || shows_others, result, facts }
    };
    let mut answers: Vec<bool> = Vec::new();
    let mut first: Option<Way<M::Result>> = None;
    let readings = MAX_READINGS.min(2 + MAX_READ_TOKENS / source.tokens.len().max(1));
    for _ in 0..readings {
        let next = way(&answers);
        let questions = next.facts.questions.clone();
        answers.resize(questions.len().max(answers.len()), true);
        first = Some(match first.take() {
            None => next,
            // A compiler would refuse the text with one of the two answers, so the other answer is meant.
            Some(first) if next.is_rejected => first,
            Some(first) if first.is_rejected => next,
            Some(first) if is_same(&first, &next, meaning) => first,
            Some(first) => {
                // The answer that was changed last makes the difference.
                let changed = answers.iter().rposition(|answer| !answer).unwrap_or(0);
                let question = questions.get(changed).or(first.facts.questions.first());
                return match question {
                    Some(question) => Err(question.error.clone().into()),
                    None => first.result,
                };
            }
        });
        while answers.last() == Some(&false) {
            answers.pop();
        }
        if let Some(last) = answers.last_mut() {
            *last = false;
        } else {
            return first.unwrap_or_else(|| way(&[])).result;
        }
    }
    let last = first.unwrap_or_else(|| way(&[]));
    match last.facts.questions.first() {
        Some(question) => Err(question.error.clone().into()),
        None => last.result,
    }
}

/// Whether two ways have the same result, or both none.
fn is_same<M: Meaning>(one: &Way<M::Result>, other: &Way<M::Result>, meaning: &M) -> bool {
    match (&one.result, &other.result) {
        (Ok(one), Ok(other)) => meaning.is_same(one, other),
        (one, other) => one.is_err() && other.is_err(),
    }
}
