//! Socket filters, which take packets, in the subcommands that also take seccomp filters: what `diff` and `optimize` do with them.

mod diff;
mod optimize;
mod packet;

pub(crate) use diff::diff;
pub(crate) use optimize::optimize;
pub(crate) use packet::{packet_json, packet_text};
