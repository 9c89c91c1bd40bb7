//! `callgate why --from LOG`: the denials of a log, with the rules that are the reason.

mod denied;
mod explained;
mod json;
mod relevant;
mod run;
mod text;

pub(super) use run::run;
