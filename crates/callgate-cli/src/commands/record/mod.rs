//! `callgate record`: records the syscalls of a command or of running processes, and combines recordings.

mod args;
mod attach;
mod command;
mod container;
mod fleet;
mod identity;
mod label;
mod merge;
mod node;
mod node_directory;
mod oci_hook;
mod pods;
mod report_text;
mod run;
mod saving;
mod split;
mod time;
mod warnings;

pub(crate) use args::{MethodArg, RecordArgs, RecordedWords};
pub(crate) use command::RecordedCommand;
pub(crate) use run::run;
pub(crate) use time::parse_time;
pub(crate) use warnings::warn_about;
