//! Real servers under filters, driven by their usual clients.
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
mod tools;

pub use error::WorkloadError;
pub use report::{Gain, Report};
pub use results::{Measure, Measured, Runs};
pub use rounds::{Plan, Variant, run};

use place::Place;
use recipe::{Load, Recipe};
use tools::{Need, Tools};

/// A server and its client, by name.
#[derive(Clone, Copy)]
pub struct Workload {
    name: &'static str,
    about: &'static str,
    needs: &'static [Need],
    recipe: fn(&Tools, &Place, &Load) -> Result<Recipe, WorkloadError>,
}

impl Workload {
    /// All of them.
    pub const ALL: &'static [Workload] = &[
        redis::WORKLOAD,
        nginx::WORKLOAD,
        mariadb::WORKLOAD,
        ffmpeg::WORKLOAD,
        postgres::WORKLOAD,
    ];

    /// The name on the command line.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// What runs, in a line.
    pub const fn about(&self) -> &'static str {
        self.about
    }
}

impl std::fmt::Debug for Workload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Workload").field(&self.name).finish()
    }
}
