//! From the tree of a profile to its typed model: checks every member by itself.

mod action;
mod arches;
mod args;
mod combined;
mod entry;
mod gate;
mod profile;
mod resource;

pub(super) use profile::profile;
pub(super) use resource::resource;
