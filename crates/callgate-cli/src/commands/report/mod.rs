//! `callgate report`: a page that shows people what a filter does, or what changed between two.

mod analysis;
mod args;
mod findings;
mod measured;
mod programs;
mod read;
mod run;

pub(crate) use args::ReportArgs;
pub(crate) use run::run;
