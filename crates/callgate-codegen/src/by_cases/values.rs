//! The values of a word, each with the clauses that remain.

use callgate_core::{Literal, Word};

use super::literals::{Literals, Remaining};
use crate::query::Interval;

/// The maximum number of evaluated clauses.
const MAX_EVALUATED: usize = 1 << 16;

/// The number of lists among which an equal one is searched for. Most values have the list of the value before, or that of
/// all other values.
const RECENT: usize = 4;

/// A clause for several values of the word.
struct Part {
    /// Its place in the list.
    at: usize,
    /// Its literals of the word.
    literals: Vec<Literal>,
}

/// The values of a word, in order and without gaps, with the indexes of lists.
pub(super) type Intervals = Vec<Interval<usize>>;

/// Partitions the values of a word into intervals, with the lists of clauses that remain; equal lists may occur twice. The
/// clauses compare the whole word. `None` if that are too many.
pub(super) fn partition(
    literals: &Literals,
    list: &[Remaining],
    word: Word,
) -> Option<(Intervals, Vec<Vec<Remaining>>)> {
    // The places of clauses for one value of the word, by value; most lists have many of them.
    let mut of_values: Vec<(u32, u32)> = Vec::with_capacity(list.len());
    let mut remaining_at: Vec<Remaining> = Vec::with_capacity(list.len());
    let mut others: Vec<Part> = Vec::new();
    let mut starts: Vec<u32> = Vec::with_capacity(2 * list.len() + 1);
    starts.push(0);
    for (at, clause) in list.iter().enumerate() {
        let of_word = literals.of(clause).filter(|literal| literal.test.word == word);
        for literal in of_word.clone() {
            starts.push(literal.test.value);
            if !literal.test.is_order {
                starts.extend(literal.test.value.checked_add(1));
            }
        }
        let remaining = literals.with(clause, |literal| literal.test.word != word);
        remaining_at.push(remaining);
        let value = of_word.clone().find(|literal| literal.holds && !literal.test.is_order);
        match value.map(|literal| literal.test.value) {
            Some(value) => {
                if of_word.clone().all(|literal| literal.is_true_for(value)) {
                    of_values.push((value, u32::try_from(at).ok()?));
                }
            }
            None => others.push(Part { at, literals: of_word.copied().collect() }),
        }
    }
    of_values.sort_unstable();
    starts.sort_unstable();
    starts.dedup();
    if starts.len() * others.len() > MAX_EVALUATED {
        return None;
    }
    let mut of_values = of_values.as_slice();
    let mut intervals: Intervals = Vec::with_capacity(starts.len());
    let mut different: Vec<Vec<Remaining>> = Vec::new();
    let mut then = Vec::new();
    for (index, first) in starts.iter().copied().enumerate() {
        let last = starts.get(index + 1).map_or(u32::MAX, |next| next - 1);
        let here = of_values.iter().take_while(|(value, _)| *value == first).count();
        let (here, rest) = of_values.split_at(here);
        of_values = rest;
        let holds = |part: &&Part| part.literals.iter().all(|one| one.is_true_for(first));
        let mut others = others.iter().filter(holds).peekable();
        then.clear();
        for (_, at) in here {
            let at = *at as usize;
            while let Some(other) = others.next_if(|other| other.at < at) {
                then.push(remaining_at[other.at]);
            }
            then.push(remaining_at[at]);
        }
        then.extend(others.map(|other| remaining_at[other.at]));
        let recent = different.len().saturating_sub(RECENT);
        let known = different[recent..].iter().position(|known| *known == then);
        let of_list = known.map_or(different.len(), |at| recent + at);
        if of_list == different.len() {
            different.push(then.clone());
        }
        match intervals.last_mut() {
            Some(before) if before.then == of_list => before.last = last,
            _ => intervals.push(Interval { first, last, then: of_list }),
        }
    }
    Some((intervals, different))
}
