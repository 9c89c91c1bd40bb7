//! `cargo xtask structure`: checks that files of a crate do not import from each other in a circle, that `mod.rs` and
//! `lib.rs` only declare, that dependencies between crates follow the architecture, that no enum of the product but the
//! registry lists languages, and that documents name existing files.

mod check;
mod code_lines;
mod declarations;
mod documents;
mod files;
mod graph;
mod languages;
mod layers;
mod paths;

pub(crate) use check::{HELP, run};
