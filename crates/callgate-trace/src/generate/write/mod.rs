//! Writes drafts as text.
//!
//! The meaning of a profile contains only what its format can express: systemd lists have no numbers and no arguments,
//! but directives limit some arguments; profiles in JSON have no numbers. The meaning is checked against the recording
//! before the text is returned. Profiles in JSON are also read back, and must have the same meaning. Units,
//! Kafel policies and resources in YAML are not read back here; the command reads resources back.

mod annotated;
mod written;

pub use written::WrittenProfile;
