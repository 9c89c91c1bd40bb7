//! A syscall of which some arguments may have any value: what a filter does with it for all of them.

use callgate::explain::{self, Outcome};
use callgate::{Arch, SeccompData, Verdict};
use callgate_codegen::query;
use callgate_core::Word;
use callgate_core::diagram::{DiagramError, Func, Store};
use callgate_core::policy::{Field, Test};

type Result<T> = std::result::Result<T, DiagramError>;

/// What a filter does with a syscall whose verdict depends on the arguments that may have any value.
pub struct Depending {
    /// The verdicts, with their conditions.
    pub outcome: Outcome,
    /// A call that is denied; one with another verdict if none is.
    pub example: SeccompData,
}

/// What a filter does with a syscall; `None` if the verdict is the same whatever the arguments with the indexes `any` are.
///
/// # Errors
/// If the function of the syscall exceeds the budget of the store.
pub fn depending(
    (store, root): (&mut Store, Func),
    arch: Arch,
    data: &SeccompData,
    any: &[u8],
) -> Result<Option<Depending>> {
    let func = of_syscall((store, root), data, any)?;
    let mut verdicts = store.verdicts(func);
    if verdicts.len() < 2 {
        return Ok(None);
    }
    verdicts.sort_by_key(|verdict| Verdict::permits(*verdict));
    let Some(verdict) = verdicts.first() else { return Ok(None) };
    let example = example((store, func), (data, any), *verdict)?;
    Ok(Some(Depending { outcome: explain::outcome(store, func, arch), example }))
}

/// The function of a syscall, which depends on its arguments with the indexes `any` only.
///
/// # Errors
/// If it exceeds the budget of the store.
pub fn of_syscall(
    (store, root): (&mut Store, Func),
    data: &SeccompData,
    any: &[u8],
) -> Result<Func> {
    let mut func = store.follow(root, Word::ARCH, data.arch);
    func = store.follow(func, Word::NR, data.nr);
    for word in (0..).map_while(Word::from_index) {
        let is_any = word.argument().is_some_and(|(index, _)| any.contains(&index));
        if !is_any && !matches!(word, Word::ARCH | Word::NR) {
            func = query::restrict(store, func, word, data.word(word))?;
        }
    }
    Ok(func)
}

/// A call that gets a verdict, as like `data` as possible and with its arguments but for those with the indexes `any`; `data` itself
/// if none does.
///
/// # Errors
/// If the set of such calls exceeds the budget of the store.
pub fn example(
    (store, func): (&mut Store, Func),
    (data, any): (&SeccompData, &[u8]),
    verdict: Verdict,
) -> Result<SeccompData> {
    let mut own = query::has_verdict(store, func, verdict)?;
    if query::has_comparisons(store, func) {
        // The given arguments may be compared with others, and keep their values.
        for (index, value) in (0..).zip(data.args) {
            if let Some(field) = Field::arg(index).filter(|_| !any.contains(&index)) {
                let is_given = store.test(&Test::eq(field, value))?;
                own = store.and(own, is_given)?;
            }
        }
    }
    Ok(query::example(store, own, *data).unwrap_or(*data))
}
