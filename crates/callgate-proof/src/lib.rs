//! The trusted core: the meaning of policies, the meaning of programs, and the proof that they are equal.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod diagram;
mod meaning;
pub mod policy;

pub use meaning::{Meaning, NotProved};
