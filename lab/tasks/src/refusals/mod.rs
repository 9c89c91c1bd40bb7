//! `cargo lab refusals`: gives random rules, some of them contradictory, to libseccomp and to Callgate. Both must
//! refuse the same sets, at the same rule.

mod answer;
mod library;
mod random;
mod run;

pub(crate) use run::{HELP, run};
