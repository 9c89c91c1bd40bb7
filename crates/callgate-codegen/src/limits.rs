//! Limits that several parts of the code generator share.

/// The maximum number of intervals of a word for which a search tree is built. It is far above what fits into a
/// program: a test removes at most two bounds of intervals. Filters above the kernel's limit still get a program up
/// to here, so that the error can report how many instructions they need.
pub(super) const MAX_INTERVALS: usize = 1 << 15;
