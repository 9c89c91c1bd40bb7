//! `callgate report`: writes a web page about what a filter does, or about the changes between two filters.

mod analysis;
mod args;
mod findings;
mod measured;
mod programs;
mod read;
mod run;

pub(crate) use args::ReportArgs;
pub(crate) use run::run;
