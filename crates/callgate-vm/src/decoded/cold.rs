//! Marks paths that are seldom executed.

/// Makes the compiler expect that the path with this call is seldom executed: `std::hint::cold_path`, which Rust has since 1.95.
#[cold]
#[inline(always)]
pub(super) fn cold_path() {}
