//! Limits of variables.

/// The maximum number of variables of a filter.
pub const MAX_VARIABLES: usize = 64;

/// The maximum length of the name of a variable.
pub const MAX_NAME: usize = 64;
