//! `cargo lab suites`: whether profiles from some runs of a test suite suffice for the other runs, and whether the
//! estimate of what is unseen foretells it.

mod options;
mod record;
mod report;
mod run;
mod split;
mod suite;
mod suite_list;

pub(crate) use options::HELP;
pub(crate) use run::run;
