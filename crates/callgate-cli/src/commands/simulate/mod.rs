//! `callgate simulate`: evaluates a filter for one syscall, or a socket filter for packets.

mod args;
mod engine;
mod expect;
mod packets;
mod run;
mod syscall;
mod trace;

pub(crate) use args::{EvaluatedForm, SimulateArgs};
pub(crate) use engine::engines;
#[cfg(test)]
pub(crate) use run::answer;
pub(crate) use run::run;
