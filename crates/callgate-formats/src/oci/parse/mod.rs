//! The document tree of a profile into its model.

mod args;
pub(super) mod profile;
