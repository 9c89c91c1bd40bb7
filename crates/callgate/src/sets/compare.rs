//! Which of two filters permits more.

use crate::description::Description;
use crate::error::{BuildError, Result};
use callgate_codegen::query::{Difference, differences};
use callgate_core::Verdict;
use callgate_core::diagram::{DiagramError, Func, Store};

/// The syscalls for which the first filter has a looser verdict than the second one: at most `limit` groups, each with a
/// witness. If there are none, the first filter permits nothing that the second one does not.
///
/// ```
/// use callgate::sets::not_in;
/// use callgate::{Arch, Filter};
///
/// let small = Filter::builder(Arch::X86_64).allow(["read"])?.build()?;
/// let large = Filter::builder(Arch::X86_64).allow(["read", "write"])?.build()?;
/// assert!(not_in(&small, &large, 10)?.is_empty());
/// assert_eq!(not_in(&large, &small, 10)?[0].data.nr, 1); // write
/// # Ok::<(), callgate::Error>(())
/// ```
///
/// # Errors
/// If their byte orders differ, or if they are too complex for the default budget.
pub fn not_in<'a, 'b>(
    first: impl Into<Description<'a>>,
    second: impl Into<Description<'b>>,
    limit: usize,
) -> Result<Vec<Difference>> {
    let (first, second) = (first.into(), second.into());
    if first.endian() != second.endian() {
        return Err(BuildError::ByteOrders.into());
    }
    let mut store = Store::default();
    let (a, b) = (first.diagram(&mut store)?, second.diagram(&mut store)?);
    Ok(not_in_func(&mut store, a, b, limit)?)
}

/// As [`not_in`], for functions of one store.
///
/// # Errors
/// If the diagram exceeds its budget.
pub fn not_in_func(
    store: &mut Store,
    first: Func,
    second: Func,
    limit: usize,
) -> Result<Vec<Difference>, DiagramError> {
    // It differs from the first one exactly where that is looser; there it is the second one.
    let both = store.highest_precedence(first, second)?;
    differences(store, first, both, limit)
}

/// The set of syscalls that a function permits (ALLOW or LOG), as a function: ALLOW for these, and
/// [`Verdict::KILL_PROCESS`] for all others. Two functions of a store permit the same if their sets are the same node.
///
/// # Errors
/// If the diagram exceeds its budget.
pub fn permitted(store: &mut Store, of: Func) -> Result<Func, DiagramError> {
    store.replace_verdicts(of, &|verdict| match verdict.permits() {
        true => Verdict::ALLOW,
        false => Verdict::KILL_PROCESS,
    })
}
