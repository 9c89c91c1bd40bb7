//! Part `command`: static binaries of the command, with man pages and completions.

mod build;
mod check;

pub(super) use build::{build, program};
pub(super) use check::check;
