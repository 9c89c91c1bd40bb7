//! Loads and the comparisons after them, before they become operations.

use super::load::Load;
use super::target::Target;

/// A load, a mask, and the comparison after them.
#[derive(Clone, Copy)]
pub(super) struct Step {
    pub(super) load: Load,
    pub(super) mask: u32,
    pub(super) branch: usize,
}

/// A step to be executed by itself for packets that are too short for the probe.
pub(super) struct Slow {
    /// The target of the probe.
    pub(super) place: Target,
    pub(super) header: Option<u32>,
    pub(super) step: Step,
}
