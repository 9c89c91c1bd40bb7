//! The bits of one word: common bits of the values of an exit.
//!
//! These queries visit the nodes of one word only.

use rustc_hash::FxHashMap as HashMap;

use callgate_core::Word;
use callgate_core::diagram::{Func, Store};

/// The union and the intersection of the bits of a set of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The union: bits that are set in at least one value.
    pub any: u32,
    /// The intersection: bits that are set in every value.
    pub all: u32,
}

impl Bounds {
    pub(super) fn union(self, other: Bounds) -> Bounds {
        Bounds { any: self.any | other.any, all: self.all & other.all }
    }
}

/// A table for the nodes of a word: most functions have a few per bit, so it need not grow.
pub(super) fn memo<K, V>() -> HashMap<K, V> {
    HashMap::with_capacity_and_hasher(100, Default::default())
}

/// The number of values of a word that lead to an exit.
pub fn values_to(store: &Store, func: Func, word: Word, exit: Func) -> u128 {
    let mut memo = memo();
    values_below(store, func, 32, word, exit, &mut memo)
}

/// As [`values_to`], for the low `bits` of the word.
fn values_below(
    store: &Store,
    func: Func,
    bits: u32,
    word: Word,
    exit: Func,
    memo: &mut HashMap<Func, u128>,
) -> u128 {
    if store.top_word(func) != Some(word) {
        return if func == exit { 1 << bits } else { 0 };
    }
    let bit = 31 - u32::from(store.var(func) % 32);
    let own = match memo.get(&func) {
        Some(done) => *done,
        None => {
            let (low, high) = store.children(func);
            let own = values_below(store, low, bit, word, exit, memo)
                + values_below(store, high, bit, word, exit, memo);
            memo.insert(func, own);
            own
        }
    };
    own << (bits - bit - 1)
}

/// The bounds of the values that lead to `exit`; `None` if there are none.
pub fn bounds_of(store: &Store, func: Func, word: Word, exit: Func) -> Option<Bounds> {
    let mut memo = memo();
    bounds_below(store, func, 32, word, &|other| other == exit, &mut memo)
}

/// The bounds of the values that do not lead to `exit`; `None` if there are none.
pub fn bounds_except(store: &Store, func: Func, word: Word, exit: Func) -> Option<Bounds> {
    let mut memo = memo();
    bounds_below(store, func, 32, word, &|other| other != exit, &mut memo)
}

/// The bounds of the values of the low `bits` of the word that lead to a wanted exit.
fn bounds_below(
    store: &Store,
    func: Func,
    bits: u32,
    word: Word,
    wanted: &impl Fn(Func) -> bool,
    memo: &mut HashMap<Func, Option<Bounds>>,
) -> Option<Bounds> {
    let low_ones = |bits: u32| ((1u64 << bits) - 1) as u32;
    if store.top_word(func) != Some(word) {
        return wanted(func).then_some(Bounds { any: low_ones(bits), all: 0 });
    }
    let bit = 31 - u32::from(store.var(func) % 32);
    let own = match memo.get(&func) {
        Some(done) => *done,
        None => {
            let (low, high) = store.children(func);
            let low = bounds_below(store, low, bit, word, wanted, memo);
            let high = bounds_below(store, high, bit, word, wanted, memo)
                .map(|bounds| Bounds { any: bounds.any | 1 << bit, all: bounds.all | 1 << bit });
            let own = match (low, high) {
                (Some(low), Some(high)) => Some(low.union(high)),
                (one, None) | (None, one) => one,
            };
            memo.insert(func, own);
            own
        }
    };
    // The bits above the tested one are free.
    let free = low_ones(bits) & !low_ones(bit + 1);
    own.map(|bounds| Bounds { any: bounds.any | free, all: bounds.all })
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_core::Verdict;
    use callgate_core::diagram::Split;

    #[test]
    fn bounds_are_the_union_and_the_intersection_of_the_values() {
        let mut store = Store::default();
        let word = Word::arg_low(2).unwrap();
        let allow = store.verdict(Verdict::ALLOW).unwrap();
        let deny = store.verdict(Verdict::errno(1)).unwrap();
        let mut func = deny;
        for value in [0x80, 0x81, 0xa1] {
            func = store.split(word, Split::Equal(value), allow, func).unwrap();
        }
        assert_eq!(bounds_except(&store, func, word, deny), Some(Bounds { any: 0xa1, all: 0x80 }));
        assert_eq!(bounds_except(&store, func, word, allow), Some(Bounds { any: !0, all: 0 }));
        assert_eq!(bounds_except(&store, deny, word, deny), None);
        assert_eq!(values_to(&store, func, word, allow), 3);
        assert_eq!(values_to(&store, func, word, deny), (1 << 32) - 3);
        let mut exits = store.exits(func, word, 2).unwrap();
        exits.sort();
        assert_eq!(exits, [allow, deny]);
        assert_eq!(store.exits(func, word, 1), None);
    }
}
