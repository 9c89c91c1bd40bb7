//! Queries that take comparisons with variables, and of two words, as independent of each other and of the bits of words: what they
//! find may be impossible, but nothing is missed.

use rustc_hash::FxHashSet;

use callgate_core::diagram::{Compared, Func, NodeSet, Store, Var};
use callgate_core::{Verdict, Word};

/// Whether a function returns one of the wanted verdicts for some input whose word has these bits under a mask.
pub fn can_return(
    store: &Store,
    func: Func,
    (word, mask, bits): (Word, u32, u32),
    is_wanted: impl Fn(Verdict) -> bool,
) -> bool {
    let mut seen = FxHashSet::default();
    let mut stack = vec![func];
    while let Some(node) = stack.pop() {
        if !seen.insert(node) {
            continue;
        }
        if let Some(verdict) = store.as_verdict(node) {
            if is_wanted(verdict) {
                return true;
            }
            continue;
        }
        let (var, low, high) = store.branch(node);
        let bit = var.checked_sub(word.index() as Var * 32).filter(|bit| *bit < 32);
        match bit.filter(|bit| mask << bit >> 31 == 1) {
            Some(bit) if bits << bit >> 31 == 1 => stack.push(high),
            Some(_) => stack.push(low),
            None => stack.extend([low, high]),
        }
    }
    false
}

/// Whether for some input two functions return verdicts that are wanted of them. Takes at most as many steps as there are
/// pairs of nodes. Equal functions count as never wanted.
pub fn any_pair(
    store: &Store,
    a: Func,
    b: Func,
    is_wanted: impl Fn(Verdict, Verdict) -> bool,
) -> bool {
    let mut seen = FxHashSet::default();
    let mut stack = vec![(a, b)];
    while let Some((a, b)) = stack.pop() {
        if a == b || !seen.insert((a, b)) {
            continue;
        }
        if let (Some(left), Some(right)) = (store.as_verdict(a), store.as_verdict(b)) {
            if is_wanted(left, right) {
                return true;
            }
            continue;
        }
        let (_, (a0, a1), (b0, b1)) = store.expand(a, b);
        stack.extend([(a0, b0), (a1, b1)]);
    }
    false
}

/// Whether a function tests comparisons with variables, or of two words.
pub fn has_comparisons(store: &Store, func: Func) -> bool {
    tests_comparison(store, func, |_| true)
}

/// Whether a function tests comparisons of two words.
pub fn compares_words(store: &Store, func: Func) -> bool {
    tests_comparison(store, func, |other| matches!(other, Compared::Word(_)))
}

fn tests_comparison(store: &Store, func: Func, is_meant: impl Fn(Compared) -> bool) -> bool {
    if !store.may_compare() {
        return false;
    }
    let mut seen = NodeSet::new(store.len());
    let mut pending = vec![func];
    while let Some(node) = pending.pop() {
        if store.top_comparison(node).is_some_and(|comparison| is_meant(comparison.other)) {
            return true;
        }
        let (low, high) = store.children(node);
        if low != high && seen.insert(node) {
            pending.extend([low, high]);
        }
    }
    false
}
