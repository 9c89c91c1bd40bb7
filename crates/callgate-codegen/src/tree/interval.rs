//! Intervals of values with classes and weights: the input of a search tree.

/// An interval of values that have the same class.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WeightedInterval {
    pub(crate) first: u32,
    pub(crate) last: u32,
    /// The index of the exit that the values lead to.
    pub(crate) class: usize,
    /// How often a value of the interval occurs.
    pub(crate) weight: f64,
}

impl WeightedInterval {
    pub(crate) fn is_single(&self) -> bool {
        self.first == self.last
    }
}
