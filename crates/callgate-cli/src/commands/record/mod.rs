//! `callgate record`: records the syscalls of a command or of running processes, and combines recordings.

mod args;
mod attach;
mod command;
mod container;
mod files;
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
mod words;
mod write;

pub(crate) use args::{MethodArg, RecordArgs};
pub(crate) use command::RecordedCommand;
pub(crate) use run::run;
pub(crate) use time::parse_time;
pub(crate) use warnings::warn_about;
pub(crate) use words::RecordedWords;
