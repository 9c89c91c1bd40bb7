//! `callgate bench`: measures what filters cost.

mod calls;
mod command;
mod engines;
mod filters;
mod options;
mod process;
mod report;
mod samples;
mod selection;
mod sources;
mod status;

pub(crate) use command::{BenchArgs, run};
pub(crate) use filters::take;
