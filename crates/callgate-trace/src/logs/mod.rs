//! Logs of other tools that list syscalls one by one, read line by line.
//!
//! The [crate documentation](crate#adding-a-log-format) lists the steps to add a format.

pub(crate) mod audit;
pub(crate) mod audit_fields;
pub(crate) mod lines;
pub(crate) mod lost;
pub(crate) mod markers;
pub(crate) mod programs;
pub(crate) mod selection;
pub(crate) mod strace;
mod syscalls;
