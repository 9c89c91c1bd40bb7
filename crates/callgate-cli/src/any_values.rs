//! A syscall of which some arguments may have any value: what filters do with it for all of them.

use callgate::Verdict;
use callgate::explain::{self, Outcome};
use callgate_codegen::query;
use callgate_core::diagram::{DiagramError, Func, Store};
use callgate_core::policy::{Field, Test};
use callgate_core::{SeccompData, Word};

use crate::called::Called;
use crate::options::PROMPT;
use crate::outcome::{argument_names, lines};
use crate::report::{Failure, Result};
use callgate_requests::syscall;

/// What filters do with a syscall whose verdict depends on the arguments that may have any value.
pub(crate) struct Depending {
    pub(crate) outcome: Outcome,
    /// A call that is denied; one with another verdict if none is.
    pub(crate) example: SeccompData,
}

/// What filters do with a syscall; `None` if the verdict is the same whatever the arguments are that may have any value.
/// `diagram` adds their function to a store.
pub(crate) fn depending<E>(
    call: &Called,
    diagram: impl FnOnce(&mut Store) -> std::result::Result<Func, E>,
) -> Result<Option<Depending>>
where
    Failure: From<E>,
{
    let Some(arch) = call.arch.filter(|_| !call.any.is_empty()) else { return Ok(None) };
    let mut store = Store::new(PROMPT);
    let root = diagram(&mut store)?;
    let mut find = || {
        let mut func = store.follow(root, Word::ARCH, call.data.arch);
        func = store.follow(func, Word::NR, call.data.nr);
        for word in (0..).map_while(Word::from_index) {
            let is_any = word.argument().is_some_and(|(index, _)| call.any.contains(&index));
            if !is_any && !matches!(word, Word::ARCH | Word::NR) {
                func = query::restrict(&mut store, func, word, call.data.word(word))?;
            }
        }
        let mut verdicts = store.verdicts(func);
        if verdicts.len() < 2 {
            return Ok(None);
        }
        verdicts.sort_by_key(|verdict| Verdict::permits(*verdict));
        let mut own = match verdicts.first() {
            Some(verdict) => query::has_verdict(&mut store, func, *verdict)?,
            None => return Ok(None),
        };
        if query::has_comparisons(&store, func) {
            // The given arguments may be compared with others, and keep their values.
            for (index, value) in (0..).zip(call.data.args) {
                if let Some(field) = Field::arg(index).filter(|_| !call.any.contains(&index)) {
                    let is_given = store.test(&Test::eq(field, value))?;
                    own = store.and(own, is_given)?;
                }
            }
        }
        let example = query::example(&store, own, call.data).unwrap_or(call.data);
        Ok(Some(Depending { outcome: explain::outcome(&store, func, arch), example }))
    };
    find().map_err(|error: DiagramError| Failure::new(error.to_string()))
}

impl Depending {
    /// The call and its verdicts with their conditions.
    pub(crate) fn text(&self, call: &Called) -> Vec<String> {
        let name = syscall::arch_name(call.arch, call.data.arch);
        let shown = syscall::show_any(call.arch, &call.data, &call.any);
        let known = call.arch.map(|arch| {
            let own = syscall::name(Some(arch), call.data.nr);
            let named = [(call.data.nr, own.as_str())];
            lines(&self.outcome, arch, argument_names(&named, arch))
        });
        let lines = known.unwrap_or_default();
        match lines.as_slice() {
            [only] => vec![format!("{name} {shown}: {only}")],
            _ => [format!("{name} {shown}:")]
                .into_iter()
                .chain(lines.into_iter().map(|line| format!("  {line}")))
                .collect(),
        }
    }
}
