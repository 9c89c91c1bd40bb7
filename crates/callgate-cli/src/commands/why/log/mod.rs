//! `callgate why --from LOG`: the denials of a log, with the rules that are the reason.

mod explained;
mod json;
mod metrics;
mod run;
mod search;
mod text;

pub(super) use run::run;
pub(crate) use search::{find_with, tested_arguments};
