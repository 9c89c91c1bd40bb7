//! Real servers under filters, driven by their usual clients, and programs that run under the filter themselves.
//!
//! A [`Workload`] is a recipe: the programs that it needs, how to prepare its data, the process under the filter, when
//! that process is ready, and the client that reports the throughput. Everything else is shared: `tools.rs` finds the
//! programs, `place.rs` is the private directory with the data, `process.rs` starts and ends processes, `rounds.rs` runs
//! the variants in turn, `results.rs` has the statistics, `report.rs` the report. A new workload is a file with a recipe
//! and a line in [`Workload::ALL`].
//!
//! Invariants: only the measured process runs under the filter, never the client. When [`run`] returns, also with an
//! error, all processes have ended and the private directory is removed.
//!
//! Limits: clients are on the same machine, on a second processor if there is one. A server has one processor.

mod all;
mod build;
mod definition;
mod error;
mod ffmpeg;
mod mariadb;
mod nginx;
mod place;
mod postgres;
mod process;
mod recipe;
mod redis;
mod report;
mod results;
mod rounds;
pub mod text;
mod tools;
mod unittest;

pub use definition::Workload;
pub use error::WorkloadError;
pub use report::{Gain, Report, VariantShare};
pub use results::{Measure, Measured, RunSample, Runs};
pub use rounds::{Plan, Variant, observe, run};
