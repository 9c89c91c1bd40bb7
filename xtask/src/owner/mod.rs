//! `cargo xtask owner`: where the tree is published, in every place that names it.
//!
//! The one definition is `repository` in the root's `Cargo.toml`. Other files have copies, because Go, npm, pip and people read
//! them where they are. The task replaces the copies, and `PLACES` lists those that must exist.

mod check;
mod place;
mod replace;
mod run;
mod tree;

pub(crate) use place::Owner;
pub(crate) use run::{HELP, run};
