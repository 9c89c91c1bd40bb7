//! The version and the limits of the format.

/// How deep `all` and `any` are nested at most.
pub const MAX_DEPTH: usize = 64;

/// The first line.
pub(super) const FIRST_LINE: &str = "callgate-policy 1";
