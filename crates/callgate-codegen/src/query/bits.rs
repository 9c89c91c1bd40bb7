//! The bits of one word: common bits of the values of an exit, and restriction to fixed bits.
//!
//! These queries visit the nodes of one word only.

use rustc_hash::FxHashMap as HashMap;

use callgate_bpf::data::Word;
use callgate_proof::diagram::NodeSet;
use callgate_proof::diagram::var_of;
use callgate_proof::diagram::{DiagramError, Func, Store};

/// The union and the intersection of the bits of a set of values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Bounds {
    /// The union: bits that are set in at least one value.
    pub any: u32,
    /// The intersection: bits that are set in every value.
    pub all: u32,
}

impl Bounds {
    fn union(self, other: Bounds) -> Bounds {
        Bounds { any: self.any | other.any, all: self.all & other.all }
    }
}

/// A table for the nodes of a word: most functions have a few per bit, so it need not grow.
pub(super) fn memo<K, V>() -> HashMap<K, V> {
    HashMap::with_capacity_and_hasher(100, Default::default())
}

/// The number of nodes of a function that test a word.
pub(crate) fn nodes_of_word(store: &Store, func: Func, word: Word) -> usize {
    let mut seen = NodeSet::new(store.len());
    let mut nodes = 0;
    let mut stack = vec![func];
    while let Some(node) = stack.pop() {
        if store.top_word(node) == Some(word) && seen.insert(node) {
            nodes += 1;
            stack.extend(<[Func; 2]>::from(store.children(node)));
        }
    }
    nodes
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

/// The most significant bit that a function tests in its first word, as a mask; 0 for a constant.
pub(crate) fn top_bit(store: &Store, func: Func) -> u32 {
    store.top_word(func).map_or(0, |_| 1 << (31 - u32::from(store.var(func) % 32)))
}

/// The bits of a word, the first of the function, that the function depends on.
pub(crate) fn bits_of_word(store: &Store, func: Func, word: Word) -> u32 {
    let mut seen = NodeSet::new(store.len());
    let mut bits = 0;
    let mut stack = vec![func];
    while let Some(node) = stack.pop() {
        if store.top_word(node) == Some(word) && seen.insert(node) {
            bits |= top_bit(store, node);
            stack.extend(<[Func; 2]>::from(store.children(node)));
        }
    }
    bits
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

/// The cofactor of a function for the bits `mask` of a word equal to those of `value`.
///
/// # Errors
/// If the diagram exceeds its budget.
pub(crate) fn fix_bits(
    store: &mut Store,
    func: Func,
    word: Word,
    mask: u32,
    value: u32,
) -> Result<Func, DiagramError> {
    let mut memo = memo();
    fix_bits_memo(store, func, word, mask, value, &mut memo)
}

fn fix_bits_memo(
    store: &mut Store,
    func: Func,
    word: Word,
    mask: u32,
    value: u32,
    memo: &mut HashMap<Func, Func>,
) -> Result<Func, DiagramError> {
    let bit = 31 - u32::from(store.var(func) % 32);
    let from_here_on = u32::MAX >> (31 - bit);
    if store.top_word(func) != Some(word) || mask & from_here_on == 0 {
        return Ok(func);
    }
    if let Some(done) = memo.get(&func) {
        return Ok(*done);
    }
    let (low, high) = store.children(func);
    let result = if mask >> bit & 1 == 1 {
        let kept = if value >> bit & 1 == 1 { high } else { low };
        fix_bits_memo(store, kept, word, mask, value, memo)?
    } else {
        let low = fix_bits_memo(store, low, word, mask, value, memo)?;
        let high = fix_bits_memo(store, high, word, mask, value, memo)?;
        store.make(var_of(word, bit), low, high)?
    };
    memo.insert(func, result);
    Ok(result)
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::Verdict;
    use callgate_proof::diagram::Split;

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
        assert_eq!(bits_of_word(&store, func, word), u32::MAX);
        assert_eq!(bits_of_word(&store, deny, word), 0);

        let rest = fix_bits(&mut store, func, word, !0x21, 0x80).unwrap();
        assert_eq!(bits_of_word(&store, rest, word), 0x21);
        for value in [0, 1, 0x20, 0x21] {
            let wanted = if value == 0x20 { deny } else { allow };
            assert_eq!(store.follow(rest, word, value), wanted);
            assert_eq!(store.follow(rest, word, value | 0x5f00), wanted);
        }
    }
}
