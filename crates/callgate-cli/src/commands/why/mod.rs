//! `callgate why`: which rule of a filter decides about a syscall.

mod answer;
mod args;
mod change;
mod json;
mod log;
mod patch;
mod read;
mod reason;
mod run;
mod text;
mod which;

pub(crate) use args::WhyArgs;
pub(crate) use change::{Change, call, change, patch, prove};
pub(crate) use read::Read;
pub(crate) use run::run;
