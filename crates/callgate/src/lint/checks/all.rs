//! The list of all groups of checks.

use super::{
    abis, alternatives, arguments, capabilities, cost, fallbacks, lists, multiplexers, needed,
    powerful, reader, rules, siblings, verdicts,
};
use crate::error::Result;
use crate::lint::findings::Findings;
use crate::lint::view::View;

/// A group of checks.
pub(in crate::lint) type Group = fn(&mut View<'_>, &mut Findings) -> Result<()>;

/// All groups.
pub(in crate::lint) const ALL: &[Group] = &[
    verdicts::check,
    arguments::check,
    abis::check,
    multiplexers::check,
    powerful::check,
    rules::check,
    alternatives::check,
    siblings::check,
    fallbacks::check,
    needed::check,
    capabilities::check,
    reader::check,
    cost::check,
    lists::check,
];

/// Those that find other ways to syscalls that the filter denies: other bits of arguments, other ABIs and multiplexers.
pub(in crate::lint) const EVASIONS: &[Group] =
    &[arguments::check, abis::check, multiplexers::check];
