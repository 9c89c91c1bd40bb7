//! The support of predicates, and the predicate that a function has a verdict.

use std::collections::BTreeSet;

use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};

use callgate_core::diagram::{DiagramError, Func, Pred, Store, VARS};
use callgate_core::{Verdict, Word};

/// The predicate that a function has this verdict.
///
/// # Errors
/// If the diagram exceeds its budget.
pub fn has_verdict(store: &mut Store, func: Func, verdict: Verdict) -> Result<Pred, DiagramError> {
    has_verdict_memo(store, func, verdict, &mut HashMap::default())
}

fn has_verdict_memo(
    store: &mut Store,
    func: Func,
    verdict: Verdict,
    memo: &mut HashMap<Func, Pred>,
) -> Result<Pred, DiagramError> {
    if store.var(func) == VARS {
        let only =
            store.as_verdict(func).ok_or(DiagramError::defect("a function ends in verdicts"))?;
        return Ok(Pred::constant(only == verdict));
    }
    if let Some(done) = memo.get(&func) {
        return Ok(*done);
    }
    store.charge()?;
    let (low, high) = store.children(func);
    let low = has_verdict_memo(store, low, verdict, memo)?;
    let high = has_verdict_memo(store, high, verdict, memo)?;
    let pred = store.make(store.var(func), low, high)?;
    memo.insert(func, pred);
    Ok(pred)
}

/// The support of a predicate: the words that it depends on, in their order.
pub fn support(store: &Store, pred: Pred) -> Vec<Word> {
    let mut seen = HashSet::default();
    let mut words = BTreeSet::new();
    let mut pending = vec![pred];
    while let Some(node) = pending.pop() {
        if store.var(node) < VARS && seen.insert(node) {
            words.insert(usize::from(store.var(node) / 32));
            pending.extend(<[Pred; 2]>::from(store.children(node)));
        }
    }
    words.into_iter().filter_map(Word::from_index).collect()
}
