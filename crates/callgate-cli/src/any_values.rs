//! A syscall of which some arguments may have any value: what filters do with it for all of them.

use callgate::explain::Outcome;
use callgate_core::SeccompData;
use callgate_core::diagram::{Func, Store};
use callgate_requests::any_values;

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
    any_values::depending((&mut store, root), arch, &call.data, &call.any)
        .map(|depending| {
            depending.map(|own| Depending { outcome: own.outcome, example: own.example })
        })
        .map_err(|error| Failure::new(error.to_string()))
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
