//! `callgate explain`: what a filter does with each syscall.

mod args;
mod explained;
mod json;
mod markdown;
mod run;
mod text;

pub(crate) use args::ExplainArgs;
pub(crate) use run::run;
