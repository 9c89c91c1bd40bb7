//! Published experiments, repeated on the running kernel.
//!
//! An experiment defines its subjects, what they execute, and the findings. Its filters are made here, by
//! Callgate's compiler and by [libseccomp](crate::libseccomp), from the experiment's own rules or the caller's. Since Linux 5.11 the kernel's verdict cache answers syscalls that a filter always allows. Where it would
//! answer a published filter, a second subject has the same rules and inspects an argument, so that the filter runs.

mod catalog;
mod condwait;
mod error;
mod getpid;
mod given;
mod long_jumps;
mod open_read_close;
mod runs;
mod setup;
mod socket_filters;
mod unixbench;
mod weighted;

pub use catalog::Experiment;
pub use condwait::futex_operations;
pub use error::ExperimentError;
pub use runs::{Runs, Take, Varied};
pub use setup::{Findings, Options, Setup};
