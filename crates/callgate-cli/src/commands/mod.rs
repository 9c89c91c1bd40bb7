//! The subcommands, one file or directory each: the options ([`clap::Args`]) and `run`.

pub(crate) mod asm;
pub(crate) mod bench;
pub(crate) mod check;
pub(crate) mod compile;
pub(crate) mod completions;
pub(crate) mod convert;
pub(crate) mod diff;
pub(crate) mod disasm;
pub(crate) mod dry_run;
pub(crate) mod dump;
pub(crate) mod explain;
pub(crate) mod fuzz;
pub(crate) mod generate;
pub(crate) mod lint;
pub(crate) mod man;
pub(crate) mod merge;
pub(crate) mod optimize;
pub(crate) mod record;
pub(crate) mod report;
mod rule_places;
pub(crate) mod run;
pub(crate) mod sets;
pub(crate) mod simulate;
pub(crate) mod sources;
pub(crate) mod subset;
mod targets;
pub(crate) mod why;
