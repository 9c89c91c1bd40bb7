//! `callgate dump`: shows the filters of a running process, or those that a command installs.

mod args;
mod caught;
mod process;
mod shown;

pub(crate) use args::DumpArgs;
pub(crate) use process::run;
