//! The definition of a workload.

use super::error::WorkloadError;
use super::place::Place;
use super::recipe::{Load, Recipe};
use super::tools::{Need, Tools};

/// A server and its client.
#[derive(Clone, Copy)]
pub struct Workload {
    pub(super) name: &'static str,
    pub(super) about: &'static str,
    pub(super) needs: &'static [Need],
    pub(super) recipe: fn(&Tools, &Place, &Load) -> Result<Recipe, WorkloadError>,
}

impl Workload {
    /// The name on the command line.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// A description in one line.
    pub const fn about(&self) -> &'static str {
        self.about
    }
}

impl std::fmt::Debug for Workload {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("Workload").field(&self.name).finish()
    }
}
