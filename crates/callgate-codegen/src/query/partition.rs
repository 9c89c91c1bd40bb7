//! The partition of the values of a word into intervals with the same exit.

use callgate_core::Word;
use callgate_core::diagram::{Func, NodeSet, Store, var_of};

/// An interval of values of one word with the same exit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Interval<E = Func> {
    /// The first value.
    pub first: u32,
    /// The last value, included.
    pub last: u32,
    /// The exit.
    pub then: E,
}

impl<E> Interval<E> {
    /// The same values with another exit.
    pub(crate) fn with<F>(&self, then: F) -> Interval<F> {
        Interval { first: self.first, last: self.last, then }
    }
}

/// Partitions the values of a word, in order and without gaps, into maximal intervals with the same exit. The function
/// must not test an earlier word.
///
/// `None` if there are more than `limit` intervals.
pub fn partition(store: &Store, func: Func, word: Word, limit: usize) -> Option<Vec<Interval>> {
    partition_within(store, func, word, u32::MAX, limit)
}

/// As [`partition`], for the values without bits outside `mask`. Intervals begin and end with such values; there may
/// be gaps between them.
#[inline]
pub(crate) fn partition_within(
    store: &Store,
    func: Func,
    word: Word,
    mask: u32,
    limit: usize,
) -> Option<Vec<Interval>> {
    let mut intervals: Vec<Interval> = Vec::with_capacity(128.min(limit));
    // Depth first, low child first; high children wait on a stack: function, first value, number of remaining bits.
    let mut stack = Vec::with_capacity(32);
    let mut next = Some((func, 0u32, 32u32));
    while let Some((node, first, bits)) = next {
        let (var, low, high) = store.branch(node);
        if usize::from(var / 32) != word.index() {
            let last = first | (((1u64 << bits) - 1) as u32 & mask);
            let full = intervals.len() == limit;
            match intervals.last_mut() {
                Some(interval) if interval.then == node => interval.last = last,
                _ if full => return None,
                _ => intervals.push(Interval { first, last, then: node }),
            }
            next = stack.pop();
            continue;
        }
        let bit = 31 - u32::from(var % 32);
        // Free bits above the tested one repeat the pattern below it.
        let bits = bits - 1;
        let (low, high) = if bit < bits { (node, node) } else { (low, high) };
        let top = 1 << bits;
        if mask & top != 0 {
            stack.push((high, first | top, bits));
        }
        next = Some((low, first, bits));
    }
    Some(intervals)
}

/// The number of nodes of a function that test a word.
pub(crate) fn nodes_of(store: &Store, func: Func, word: Word) -> usize {
    let mut seen = NodeSet::new(store.len());
    let mut stack = Vec::with_capacity(33);
    stack.push(func);
    let mut nodes = 0;
    while let Some(func) = stack.pop() {
        if store.top_word(func) == Some(word) && seen.insert(func) {
            nodes += 1;
            stack.extend(<[Func; 2]>::from(store.children(func)));
        }
    }
    nodes
}

/// The only value of a word for which a function continues at another exit than for all other values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OnlyValue {
    pub(crate) value: u32,
    pub(crate) then: Func,
    /// The exit of all other values.
    pub(crate) otherwise: Func,
}

/// The only value of a word with another exit; the function must not test an earlier word. `None` if there are several.
pub(crate) fn only_value(store: &Store, func: Func, word: Word) -> Option<OnlyValue> {
    let (_, low, high) = store.branch(func);
    // A node per bit, of which one child is the next node.
    let otherwise = if store.top_word(low) == Some(word) { high } else { low };
    let (mut value, mut then) = (0, func);
    for bit in (0..32).rev() {
        let (var, low, high) = store.branch(then);
        if var != var_of(word, bit) {
            return None;
        }
        then = match otherwise {
            exit if exit == high => low,
            exit if exit == low => {
                value |= 1 << bit;
                high
            }
            _ => return None,
        };
    }
    Some(OnlyValue { value, then, otherwise })
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_core::Verdict;
    use callgate_core::diagram::Split;

    #[test]
    fn intervals_are_maximal_and_cover_all_values() {
        let mut store = Store::default();
        let allow = store.verdict(Verdict::ALLOW).unwrap();
        let deny = store.verdict(Verdict::errno(1)).unwrap();
        let above = store.split(Word::NR, Split::AtLeast(10), deny, allow).unwrap();
        let func = store.split(Word::NR, Split::Equal(5), deny, above).unwrap();
        let interval = |first, last, then| Interval { first, last, then };
        assert_eq!(
            partition(&store, func, Word::NR, 4),
            Some(vec![
                interval(0, 4, allow),
                interval(5, 5, deny),
                interval(6, 9, allow),
                interval(10, u32::MAX, deny)
            ])
        );
        assert_eq!(partition(&store, func, Word::NR, 3), None);
        assert_eq!(
            partition(&store, allow, Word::NR, 1),
            Some(vec![interval(0, u32::MAX, allow)]),
            "a constant is one interval"
        );
    }

    #[test]
    fn untested_high_bits_repeat_the_pattern() {
        let mut store = Store::default();
        let allow = store.verdict(Verdict::ALLOW).unwrap();
        let deny = store.verdict(Verdict::errno(1)).unwrap();
        let word = Word::arg_low(0).unwrap();
        let set = store.any_bit(word, 1 << 29).unwrap();
        let func = store.select(set, deny, allow).unwrap();
        assert_eq!(partition(&store, func, word, 100).unwrap().len(), 8);
    }

    #[test]
    fn one_value_is_told_from_all_others() {
        let mut store = Store::default();
        let [allow, deny, log] = [Verdict::ALLOW, Verdict::errno(1), Verdict::LOG]
            .map(|verdict| store.verdict(verdict).unwrap());
        let [high, low] = [Word::arg_high(0).unwrap(), Word::arg_low(0).unwrap()];
        let inner = store.split(low, Split::Equal(7), allow, deny).unwrap();
        let only = |value, then, otherwise| Some(OnlyValue { value, then, otherwise });
        assert_eq!(only_value(&store, inner, low), only(7, allow, deny));
        assert_eq!(only_value(&store, inner, high), None);
        assert_eq!(only_value(&store, allow, low), None);
        for value in [0, 1, 2, 0x7fff_ffff, 0x8000_0000, u32::MAX - 1, u32::MAX] {
            let func = store.split(high, Split::Equal(value), inner, deny).unwrap();
            assert_eq!(only_value(&store, func, high), only(value, inner, deny));
            let func = store.split(high, Split::Equal(value), deny, inner).unwrap();
            assert_eq!(only_value(&store, func, high), only(value, deny, inner));
        }
        let func = store.split(high, Split::AtLeast(1), deny, inner).unwrap();
        assert_eq!(only_value(&store, func, high), only(0, inner, deny));
        for other in [Split::AtLeast(2), Split::Equal(1), Split::AtLeast(1 << 31)] {
            let func = store.split(high, other, log, func).unwrap();
            assert_eq!(only_value(&store, func, high), None, "{other:?}");
            let func = store.split(high, other, deny, allow).unwrap();
            assert_eq!(only_value(&store, func, high).is_some(), other == Split::Equal(1));
        }
    }
}
