//! `cargo lab drop-in`: Callgate's `libseccomp.so.2` beside the original, for the random rule sets of the tournament.
//!
//! A [`driver`] in C, linked with one of the libraries, makes each filter in a process of its own; the [`report`] has the
//! distributions and the worst rows.

mod driver;
mod options;
mod report;
mod run;

pub(crate) use options::HELP;
pub(crate) use run::run;
