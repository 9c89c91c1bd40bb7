//! Limits that messages name.

/// The maximum number of alternatives of a syscall.
pub(crate) const MAX_ALTERNATIVES: usize = 4096;
