//! What the macro `callgate_macros::filter!` expands to.
//!
//! A crate of macros exports nothing but macros, so the logic is here, beside what a build script calls.

mod arguments;
mod expand;
mod literal;
mod tokens;

pub use expand::{for_all_targets, for_target};
