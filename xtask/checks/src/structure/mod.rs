//! `cargo xtask structure`: checks that files of a crate do not import from each other in a circle, that `mod.rs` and
//! `lib.rs` only declare, that dependencies between crates follow the architecture, that no enum of the product but the
//! registry lists or names languages, that documents name existing files and quote the figures of `docs/figures.json`, that README.md has
//! at most 900 words, and that workflows use actions by the hash of a commit and images by their
//! digest.

mod actions;
mod check;
mod code_lines;
mod declarations;
pub(crate) mod documents;
mod files;
mod graph;
mod languages;
pub(crate) mod layers;
mod paths;

pub(crate) use check::{HELP, run};
