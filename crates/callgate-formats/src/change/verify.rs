//! The proof that a change allows a syscall and nothing else.

use std::fmt;

use callgate_core::diagram::{DiagramError, Func, Store};
use callgate_core::{SeccompData, Verdict};

use super::allowed::Allowed;

/// A change that is proved: it allows exactly the wanted syscalls and denies none that was allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Verified {
    /// One of the syscalls that are denied before and after the change, but with another verdict.
    pub side_effect: Option<SideEffect>,
    /// A call of a multiplexer, such as `socketcall`, that is permitted now. A filter cannot see the arguments of the
    /// syscall in it, so they may be others than wanted.
    pub multiplexed: Option<SideEffect>,
}

/// A syscall with another verdict than before.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SideEffect {
    /// The syscall.
    pub data: SeccompData,
    /// The verdict before the change.
    pub before: Verdict,
    /// The verdict after the change.
    pub after: Verdict,
}

/// Why a change is not proved.
#[derive(Clone, Debug)]
pub enum Unverified {
    /// A wanted syscall is still denied.
    Denied(Verdict),
    /// The change also affects another syscall.
    Other(SideEffect),
    /// The MTBDD exceeds its budget.
    Budget(DiagramError),
}

impl From<DiagramError> for Unverified {
    fn from(error: DiagramError) -> Unverified {
        Unverified::Budget(error)
    }
}

impl fmt::Display for Unverified {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Unverified::Denied(verdict) => write!(f, "the syscall would still get {verdict}"),
            Unverified::Other(SideEffect { before, after, .. }) => {
                write!(f, "another syscall would get {after} instead of {before}")
            }
            Unverified::Budget(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for Unverified {}

/// Proves that a filter with the function `after` permits what one with the function `before` permits, the wanted
/// syscalls, and nothing else. A wanted syscall may also be permitted on other architectures of the filter.
///
/// # Errors
/// If this is not so, with an example, or if the MTBDD exceeds its budget.
pub fn verify(
    store: &mut Store,
    before: Func,
    after: Func,
    wanted: &[Allowed],
) -> Result<Verified, Unverified> {
    let mut region = store.verdict(Verdict::KILL_PROCESS)?;
    // Without what is behind a multiplexer, where the arguments do not matter.
    let mut exact = region;
    for one in wanted {
        let required = one.required(store)?;
        let inside = inside(store, after, required)?;
        if let Some(verdict) = store.verdicts(inside).into_iter().find(|one| !one.permits()) {
            return Err(Unverified::Denied(verdict));
        }
        let permitted = one.permitted(store, true)?;
        region = looser(store, region, permitted)?;
        let permitted = one.permitted(store, !one.is_conditional())?;
        exact = looser(store, exact, permitted)?;
    }
    // What is permitted stays permitted, everywhere.
    let (only_before, only_after) = (permission(store, before)?, permission(store, after)?);
    let either = looser(store, only_before, only_after)?;
    unchanged(store, [either, only_after], [before, after])?;
    // Outside of the region, nothing else is permitted.
    let (kept_before, kept_after) = (looser(store, before, region)?, looser(store, after, region)?);
    let outside = [permission(store, kept_before)?, permission(store, kept_after)?];
    unchanged(store, outside, [before, after])?;
    let side_effect = difference(store, [kept_before, kept_after], [before, after])?;
    let (kept_before, kept_after) = (looser(store, before, exact)?, looser(store, after, exact)?);
    let outside = [permission(store, kept_before)?, permission(store, kept_after)?];
    let multiplexed = difference(store, outside, [before, after])?;
    Ok(Verified { side_effect, multiplexed })
}

/// The looser verdict of both, the first one's if they have the same action.
fn looser(store: &mut Store, first: Func, second: Func) -> Result<Func, DiagramError> {
    store.choose(first, second, |one, other| one.precedence() <= other.precedence())
}

/// The function inside of a region, and ALLOW elsewhere.
fn inside(store: &mut Store, func: Func, region: Func) -> Result<Func, DiagramError> {
    let inverted = store.replace_verdicts(region, &|verdict| match verdict.permits() {
        true => Verdict::KILL_PROCESS,
        false => Verdict::ALLOW,
    })?;
    looser(store, func, inverted)
}

/// ALLOW where the function permits, and KILL_PROCESS elsewhere.
fn permission(store: &mut Store, func: Func) -> Result<Func, DiagramError> {
    store.replace_verdicts(func, &|verdict| match verdict.permits() {
        true => Verdict::ALLOW,
        false => Verdict::KILL_PROCESS,
    })
}

/// Fails if two functions differ, with the verdicts of the filters where they do.
fn unchanged(store: &mut Store, compared: [Func; 2], filters: [Func; 2]) -> Result<(), Unverified> {
    match difference(store, compared, filters)? {
        None => Ok(()),
        Some(other) => Err(Unverified::Other(other)),
    }
}

/// A syscall for which two functions differ, with the verdicts of the filters.
fn difference(
    store: &Store,
    [a, b]: [Func; 2],
    [before, after]: [Func; 2],
) -> Result<Option<SideEffect>, DiagramError> {
    if a == b {
        return Ok(None);
    }
    let data = store.witness(a, b, SeccompData::default())?.unwrap_or_default();
    let (before, after) = (store.evaluate(before, &data)?, store.evaluate(after, &data)?);
    Ok(Some(SideEffect { data, before, after }))
}
