//! `callgate explain`: what a filter does with each syscall, or a socket filter with packets.

mod args;
mod explained;
mod json;
mod markdown;
mod packets;
mod run;
mod text;

pub(crate) use args::ExplainArgs;
pub(crate) use run::run;
pub(crate) use text::list_lengths;
