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
    /// The loads between which the caller may choose, the default first; none if there is one alone.
    pub(super) loads: &'static [&'static str],
    pub(super) recipe: fn(&Tools, &Place, &Load) -> Result<Recipe, WorkloadError>,
}

impl Workload {
    /// The name on the command line.
    pub const fn name(&self) -> &'static str {
        self.name
    }

    /// The names of its loads, the default first; none if it has one load alone, with a fixed number of connections.
    pub const fn loads(&self) -> &'static [&'static str] {
        self.loads
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
