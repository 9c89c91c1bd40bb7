//! Recordings of syscalls: what programs called, how often, and with which argument values.
//!
//! | module | contents |
//! |---|---|
//! | [`recording`] | the model, and its JSON format with reader and writer |
//! | `logs` | logs that list syscalls one by one: strace, audit; splitting into lines |
//! | [`counts`] | tables that only count: `strace -c`, `perf trace -s`, two columns |
//! | [`read`] | detects the format of a text and reads a recording |
//! | [`denials`] | denials in logs: audit, journal, SIGSYS reports, strace |
//! | [`changes`] | what changed between the recordings of two versions |
//! | [`check`] | which recorded syscalls a filter would deny |
//! | [`generate`] | profiles that allow what was recorded |
//! | [`unseen`] | estimates of what no recorded run has done yet |
//!
//! [`read`] returns recordings. [`counts`] has a reader of its own, which returns counts for the weights of a
//! filter. Both use the same detection (`read/detect.rs`) and the same logs.
//!
//! # Adding a log format
//!
//! 1. Write a reader in `logs/`, in a file or a directory of its own. It takes one line at a time (`line`), tells
//!    whether a line so far proved that the text is in its format (`is_detected`), and returns the recording at
//!    the end (`finish`). It keeps syscalls in `logs::syscalls::BoundedSyscalls`, which limits how many there are, and
//!    reports every line that it skips.
//! 2. Add it to `read/detect.rs`: a variant of `DetectedFormat`, and its turn for each line.
//! 3. Add its variant of [`RecordingMethod`](recording::RecordingMethod), and convert the result in
//!    `read/reader.rs` and `counts/reader.rs`.
//! 4. Describe it in the documentation of [`read`], add tests to `read/tests/`, and a row to `docs/reference/limits.md`
//!    after `cargo lab hostile` measured what hostile input costs.
//!
//! Texts that programs print about denials are in `logs/markers.rs`, whether a reader understands them or not: a line that has
//! one and is not read is reported.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod changes;
pub mod check;
pub mod counts;
pub mod denials;
pub mod generate;
mod logs;
mod names;
pub mod read;
pub mod recording;
pub mod unseen;

pub use logs::programs::LogPrograms;
pub use logs::selection::{Selected, Selection};

#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
