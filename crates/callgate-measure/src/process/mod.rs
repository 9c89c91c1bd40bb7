//! The CPU time that filters take in a running process: what its syscalls were, times what the filters cost for each.
//!
//! 1. A recorder counts the syscalls of the process in [`Window`]s, with its CPU time in each.
//! 2. [`Paths`] finds for each syscall how many instructions the filters execute for it, and a syscall that can be made
//!    safely and takes the same path, or the nearest one by that number.
//! 3. [`measure`](crate::measure()) measures these under no filter, an [empty filter](EMPTY) and the [filters](FILTERS) of the
//!    process, each as the bare instruction and in a function ([`Share::bodies`]).
//! 4. [`Share`] multiplies and adds up.
//!
//! # Assumptions
//!
//! - The process does the same at other times as while it was recorded, and the windows are independent of each other.
//! - Its threads and descendants have the same filters.
//! - A filter costs in the process what it costs in a loop: its code and data are in the caches.
//! - A denied syscall costs what the filters execute. That the kernel then skips the syscall is not subtracted, and the time
//!   of a supervisor or tracer is not added.
//!
//! # The interval
//!
//! The share is `S = Σ nᵢ·cᵢ / U`, for `nᵢ` syscalls that cost `cᵢ` and the CPU time `U`. It has two independent errors:
//!
//! - that of the costs: `S` with the costs of each round is a sample; their median has an [`Interval`](crate::stats::Interval);
//! - that of the rates: `Σ nᵢ·cᵢ` and `U` of each window are a pair, with the medians of the costs; [`ratio`](crate::stats::ratio).
//!
//! [`with_error_of`](crate::stats::Interval::with_error_of) combines them. If the number of instructions depends on arguments that
//! were recorded with several values, how often each value was passed is not known: the cost is between those of the shortest
//! and the longest path, the estimate is in the middle, and the bounds are as far away as both paths. The same holds for the bare
//! instruction and the one in a function. The cost of the recorder, which is subtracted from the CPU time, is taken to be known
//! to 10 %.

mod call;
mod json;
mod paths;
mod share;
mod subjects;
mod text;

pub use call::{ArgumentValues, ProcessCall};
pub use json::json;
pub use paths::{Path, Paths};
pub use share::{CallShare, Share, ShareError, Window};
pub use subjects::{EMPTY, FILTERS, subjects};
pub use text::text;
