//! The restriction of functions to the value of a word.

use rustc_hash::FxHashMap as HashMap;

use crate::Result;
use callgate_core::Word;
use callgate_core::diagram::{Func, Store, var_of};

/// The restriction (cofactor) of a function to this value of a word. Comparisons with the word remain.
///
/// # Errors
/// If the diagram exceeds its budget.
pub fn restrict(store: &mut Store, func: Func, word: Word, value: u32) -> Result<Func> {
    restrict_memo(store, func, (word, value), &mut HashMap::default())
}

/// Each recursion is at least one variable deeper.
fn restrict_memo(
    store: &mut Store,
    func: Func,
    (word, value): (Word, u32),
    memo: &mut HashMap<Func, Func>,
) -> Result<Func> {
    let (var, low, high) = store.branch(func);
    if var > var_of(word, 0) {
        return Ok(func);
    }
    if let Some(done) = memo.get(&func) {
        return Ok(*done);
    }
    let result = if var >= var_of(word, 31) {
        let next = if value << (var % 32) >> 31 == 1 { high } else { low };
        restrict_memo(store, next, (word, value), memo)?
    } else {
        let low = restrict_memo(store, low, (word, value), memo)?;
        let high = restrict_memo(store, high, (word, value), memo)?;
        store.make(var, low, high)?
    };
    memo.insert(func, result);
    Ok(result)
}
