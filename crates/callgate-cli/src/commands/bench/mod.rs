//! `callgate bench`: measures what filters cost.

mod command;
mod engines;
mod filters;
mod listing;
mod options;
mod published;
mod report;
mod sources;
mod status;
mod throughput;
mod workload;

pub(crate) use command::{BenchArgs, run};
pub(crate) use filters::take;
