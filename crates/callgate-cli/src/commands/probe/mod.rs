//! `callgate probe`: what the filters of this process do, found out from inside, without any privilege.

mod args;
mod found;
mod json;
mod nearest;
mod run;
mod summary;
mod text;

pub(crate) use args::ProbeArgs;
pub(crate) use run::run;
