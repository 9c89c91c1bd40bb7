//! What texts are in a source.

/// The role of a text that is a file of systemd, whatever its content is.
pub const FILE: &str = "unit";

/// The role of a text with values of `SystemCallFilter=`.
pub const VALUES: &str = "filter";
