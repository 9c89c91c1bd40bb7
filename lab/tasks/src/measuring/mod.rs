//! `cargo lab experiment` and `cargo lab throughput`: one published experiment, or one server with its client, under
//! filters on the running kernel.

mod experiment;
mod options;
mod output;
mod policy;
mod share;
mod sources;
mod throughput;

pub(crate) use experiment::{HELP as EXPERIMENT_HELP, run as experiment};
pub(crate) use policy::built_in_policy;
pub(crate) use throughput::{HELP as THROUGHPUT_HELP, run as throughput};
