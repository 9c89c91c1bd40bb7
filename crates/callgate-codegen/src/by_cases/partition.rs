//! The values of a word, each with the clauses that remain.

use callgate_bpf::data::Word;
use callgate_proof::Literal;

use super::lists::{Lists, Remaining};
use crate::query::Interval;

/// The maximum number of evaluated clauses.
const MAX_EVALUATED: usize = 1 << 16;

/// A clause, or what remains of it where its literals of the word hold.
struct Part {
    /// Its place in the list.
    at: usize,
    remaining: Remaining,
    /// Its literals of the word.
    literals: Vec<Literal>,
}

/// Partitions the values of a word into intervals, in order and without gaps, with the list of clauses that remain. The
/// clauses compare the whole word. `None` if that are too many.
pub(super) fn partition(
    lists: &Lists<'_>,
    list: &[Remaining],
    word: Word,
) -> Option<Vec<Interval<Vec<Remaining>>>> {
    // Clauses for one value of the word, by value; most lists have many of them.
    let mut of_values: Vec<(u32, usize, Remaining)> = Vec::new();
    let mut others: Vec<Part> = Vec::new();
    let mut starts: Vec<u32> = vec![0];
    for (at, clause) in list.iter().enumerate() {
        let of_word = lists.literals(clause).filter(|literal| literal.test.word == word);
        for literal in of_word.clone() {
            starts.push(literal.test.value);
            if !literal.test.is_order {
                starts.extend(literal.test.value.checked_add(1));
            }
        }
        let remaining = lists.with(clause, |literal| literal.test.word != word);
        let value = of_word.clone().find(|literal| literal.holds && !literal.test.is_order);
        match value.map(|literal| literal.test.value) {
            Some(value) => {
                if of_word.clone().all(|literal| literal.is_true_for(value)) {
                    of_values.push((value, at, remaining));
                }
            }
            None => others.push(Part { at, remaining, literals: of_word.copied().collect() }),
        }
    }
    of_values.sort_unstable_by_key(|(value, at, _)| (*value, *at));
    starts.sort_unstable();
    starts.dedup();
    if starts.len() * others.len() > MAX_EVALUATED {
        return None;
    }
    let mut of_values = of_values.as_slice();
    let mut intervals: Vec<Interval<Vec<Remaining>>> = Vec::with_capacity(starts.len());
    for (index, first) in starts.iter().copied().enumerate() {
        let last = starts.get(index + 1).map_or(u32::MAX, |next| next - 1);
        let (here, rest) =
            of_values.split_at(of_values.partition_point(|(value, ..)| *value <= first));
        of_values = rest;
        let holds = |part: &&Part| part.literals.iter().all(|one| one.is_true_for(first));
        let mut others = others.iter().filter(holds).map(|part| (part.at, part.remaining)).peekable();
        let mut then = Vec::new();
        for (_, at, remaining) in here {
            while let Some((_, other)) = others.next_if(|(before, _)| before < at) {
                then.push(other);
            }
            then.push(*remaining);
        }
        then.extend(others.map(|(_, other)| other));
        match intervals.last_mut() {
            Some(before) if before.then == then => before.last = last,
            _ => intervals.push(Interval { first, last, then }),
        }
    }
    Some(intervals)
}
