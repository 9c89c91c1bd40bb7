//! Published experiments and server workloads, repeated under seccomp filters on the running kernel.
//!
//! - [`experiment`]: the experiments by name, each with its filters, what processes execute under them, and its findings.
//! - [`workload`]: real servers under filters, driven by their usual clients.
//! - [`libseccomp`]: the programs that the libseccomp of this machine makes, as a baseline.
//! - [`published`]: results in the form in which an experiment was published, with one estimator for all figures of a table
//!   (`times.rs`).
//! - [`report`]: an experiment's report, as [text](mod@text), [JSON](json) and an HTML [page](mod@page).
//!
//! `callgate-measure` measures, with the statistics. `unsafe` code is in `bodies/`, `counters.rs`, `libseccomp/`,
//! `experiment/long_jumps.rs` and `workload/process.rs`.

mod bodies;
mod counters;
pub mod experiment;
pub mod finding;
mod jit;
pub mod json;
pub mod libseccomp;
pub mod page;
pub mod published;
pub mod report;
pub mod text;
mod times;
pub mod workload;

pub use jit::Jit;
