//! `callgate explain`: what a filter does with each syscall.

mod args;
mod explained;
mod headline;
mod json;
mod markdown;
mod parts;
mod run;
mod table;

pub(crate) use args::ExplainArgs;
pub(crate) use run::run;
