//! `cargo xtask proofs`: the two proofs check each other.

mod corpus;
mod run;

pub(crate) use corpus::{built_in, random};
pub(crate) use run::{HELP, changed, plans, run};
