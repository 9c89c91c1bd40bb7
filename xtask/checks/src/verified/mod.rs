//! `cargo xtask verified`: the checker that is proved in Coq decides about programs of many policies.

mod checker;
mod kernel;
mod run;
mod spec;

pub(crate) use run::{HELP, run};
