//! From the tree of a profile to its typed model: checks every member by itself.

mod action;
mod arches;
mod args;
mod entry;
mod gate;
mod profile;

pub(super) use profile::profile;
