//! `callgate record`: records the syscalls of a command or of running processes, and combines recordings.

mod args;
mod attach;
mod container;
mod files;
mod oci_hook;
mod report_text;
mod run;
mod saving;
mod time;

pub(crate) use args::RecordArgs;
pub(crate) use run::run;
