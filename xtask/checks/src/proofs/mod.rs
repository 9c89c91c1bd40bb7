//! `cargo xtask proofs`: the two proofs check each other.

mod corpus;
mod run;

pub(crate) use run::{HELP, run};
