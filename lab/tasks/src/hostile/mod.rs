//! `cargo lab hostile`: time and memory of each reader for hostile inputs.

mod inputs;
mod measure;
mod run;

pub(crate) use run::{HELP, run};
