//! Differential tests: random programs and inputs, on which every engine must return what the reference
//! interpreter returns.
//!
//! A seed determines a program and its inputs, on every machine, so a difference can be reproduced.
//! Programs use every instruction that the kernel accepts, with few distinct constants, so that
//! comparisons often hold; inputs are made of the program's constants.
//!
//! ```
//! use callgate_vm::{EngineKind, differential};
//!
//! assert!(differential::run(7, 1_000, EngineKind::ALL)? > 40);
//! # Ok::<(), differential::Difference>(())
//! ```
//!
//! `CALLGATE_CASES=10000000 cargo test --release -p callgate-vm --test integration random` runs any number of cases.

mod check;
mod generate;

pub use check::{Difference, check, run};
#[cfg(test)]
pub(crate) use check::{RandomAncillary, listing};
#[cfg(test)]
pub(crate) use generate::EDGES;
pub use generate::{packet, seccomp_program, socket_program, syscall};
