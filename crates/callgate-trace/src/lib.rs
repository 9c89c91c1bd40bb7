//! Recordings of what programs call: the model, its readers and writers, checks against filters, and
//! profiles generated from them.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod check;
pub mod counts;
pub mod generate;
mod logs;
pub mod read;
pub mod recording;
