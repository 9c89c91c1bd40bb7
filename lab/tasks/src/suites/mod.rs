//! `cargo lab suites`: cross-validation. Are profiles from some runs of a test suite sufficient for the other runs, and does
//! the estimate of what is unseen predict this?

mod options;
mod record;
mod report;
mod run;
mod split;
mod suite;
mod suite_list;

pub(crate) use options::HELP;
pub(crate) use run::run;
