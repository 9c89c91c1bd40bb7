//! What is known of the masks in the ranges from each interval on.

use super::interval::WeightedInterval;
use super::masks::MaskClasses;

/// The maximum number of intervals for which a mask is searched.
pub(super) const MAX_MASKED: usize = 14;

/// The minimum number of single values that are tested before a mask which separates two classes.
#[derive(Clone, Copy, Default)]
pub(super) struct MaskBound {
    pub(super) classes: [usize; 2],
    pub(super) singles: u32,
}

/// Per interval, what is known of the ranges from there.
pub(super) struct MaskBounds {
    /// The bound of the longest range in which a mask was searched for.
    pub(super) bounds: Vec<MaskBound>,
    /// The two classes that a mask may separate up to the current end.
    pub(super) classes: Vec<MaskClasses>,
}

impl MaskBounds {
    pub(super) fn new(n: usize) -> MaskBounds {
        MaskBounds {
            bounds: vec![MaskBound::default(); n],
            classes: vec![MaskClasses::default(); n],
        }
    }

    /// Adds an interval to the range from `low` to the current end.
    pub(super) fn add(&mut self, low: usize, interval: &WeightedInterval) {
        self.classes[low].add(interval);
    }
}
