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
//! With the aim [`Aim::Quick`], [`generate_by_cases`] makes code from the [clauses](callgate_core::Cases) of a policy, without
//! MTBDD; dispatch, trees and layout are the same, but short filters have a plan of their own.
//!
//! The result is not trusted: [`Meaning::prove`](callgate_core::Meaning::prove) executes it symbolically and
//! compares, or [`Cases::proves`](callgate_core::Cases::proves) follows its paths.
//!
//! # Weights, and the prior
//!
//! Trees minimize the expected cost. [`Weights`] are the frequencies of the syscalls; a [`Model`] determines which
//! syscalls pay. Without weights, the prior ([`Weights::uniform`]) is:
//!
//! - *All always-allowed syscalls of the filter's first architecture have the same weight.* Programs under the
//!   filter use these syscalls. Which of them are frequent differs between workloads by orders of magnitude,
//!   so a wrong guess would cost more than none. Comparisons with other compilers use this prior, too.
//! - *The always-allowed syscalls of further architectures (x86 and x32 on x86-64) have 7 % of the total weight together*:
//!   they exist for compatibility.
//! - *With counts, always-allowed syscalls that are missing in the recording have 2 % together*: programs hardly make them.
//! - *Syscalls that are not always allowed have a hundredth together.* A denied syscall is rare in a working program,
//!   and returns at once. A syscall whose arguments decide does occur, but its frequency is unknown, too; give
//!   weights where it matters.
//!
//! Under the prior, all syscalls with a weight are always allowed, and every model scales them alike: without
//! weights, all models generate the same program. They differ if syscalls of both kinds have weights.
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
mod tree;
mod weights;
mod word;

pub use by_cases::generate_by_cases;
pub use cost::{Aim, Model};
pub use generate::{Effort, generate};
pub use instructions::Instructions;
pub use layout::Program;
use result::Result;
pub use weights::{Count, Permission, WeightError, WeightedSyscall, Weights};
