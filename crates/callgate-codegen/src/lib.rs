//! The code generator: from a decision diagram (MTBDD) to a program.
//!
//! ```text
//! diagram ──lower──> code graph ──layout──> instructions
//!            │  dispatch: trees for arch and number; x32 reuses the tree of x86-64
//!            │  arguments: the order of the arguments of a syscall
//!            │  tree: search trees over intervals of values
//!            └─ word: masks for argument words
//! ```
//!
//! [`generate_by_cases`] makes code from the [clauses](callgate_core::Cases) of a policy, without MTBDD; dispatch, trees and layout
//! are the same.
//!
//! The result is not trusted: [`Meaning::prove`](callgate_core::Meaning::prove) executes it symbolically and
//! compares, or [`Cases::proves`](callgate_core::Cases::proves) follows its paths.
//!
//! # Weights, and the prior
//!
//! Trees minimize the expected cost. [`Weights`] are the frequencies of the syscalls. Given counts are taken as they are, whatever
//! the [`Model`]. Without any, there is a prior:
//!
//! - *For kernels with a verdict cache* ([`Model::Cached`], the default), always-allowed syscalls of the filter's first architecture
//!   have 45 % of the cost together, those that depend on arguments 45 %, and denied ones 10 % ([`BY_PERMISSION`]). Such a kernel
//!   runs the filter only for the latter two. The cost of always-allowed syscalls is still not small: the same program may be
//!   loaded on a kernel without the cache, and installing a filter executes each of them once. Of Docker's profile, calls with
//!   conditions then execute 9.93 instructions instead of 12.93 and denied ones 10.6 instead of 11.1; always-allowed ones 9.36
//!   instead of 8.66. With twice the share for always-allowed syscalls, calls with conditions execute 2 instructions
//!   more for Podman's old profile; with half of it, always-allowed ones execute 10.2.
//! - *For kernels without it* ([`Model::Uncached`]), all always-allowed syscalls of the first architecture have the same weight
//!   ([`Weights::uniform`]). Programs under the filter use these syscalls. Which of them are frequent differs between workloads by
//!   orders of magnitude, so a wrong guess would cost more than none. Syscalls that are not always allowed have a hundredth together.
//! - *The syscalls of further architectures (x86 and x32 on x86-64) have at most 7 % of the total weight together*: they exist for
//!   compatibility.
//! - *With counts, always-allowed syscalls that are missing in the recording have 2 % together*: programs hardly make them.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod arguments;
mod by_cases;
mod code;
pub mod cost;
mod dispatch;
mod generate;
mod instructions;
mod kernel;
mod layout;
mod lower;
mod measured;
pub mod native;
pub mod query;
mod result;
mod rules;
mod threading;
mod tree;
mod weights;
mod word;

pub use by_cases::{Repeating, generate_by_cases};
pub use cost::{Aim, Model};
pub use generate::{Effort, generate};
pub use instructions::Instructions;
pub use layout::Program;
use result::Result;
pub use weights::{
    BY_PERMISSION, Count, Distribution, Permission, WeightError, WeightedSyscall, Weights,
    expected_shares,
};
