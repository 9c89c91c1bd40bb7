//! The trusted core: what a policy means, what a program means, and whether the two are the same.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod diagram;
mod meaning;
pub mod policy;

pub use meaning::{Meaning, NotProved};
