//! The proof that a program and the description of a filter are the same function.
//!
//! A filter is a function from the 512 bits of `struct seccomp_data` to a 32-bit verdict. This crate represents
//! functions as MTBDDs (multi-terminal binary decision diagrams), which are hash-consed, reduced and ordered: in
//! one store, two functions are equal exactly if their roots are the same node.
//!
//! - [`policy`] defines the meaning of rules, and evaluates them for one syscall;
//! - [`diagram`] derives the function of a policy from its rules, and that of a program by symbolic execution of
//!   its instructions;
//! - a [`Spec`] says what a program must compute: a policy or a program, a stack or a set of them;
//! - [`Meaning`] is the function of a spec, which only this crate computes. [`Meaning::prove`] accepts a program if both functions are the
//!   same node, and returns it as [`Proved`], with its spec. If they differ, [`NotProved::witness`] is a syscall for which they
//!   do.
//!
//! [`Cases`] is another, quicker proof for usual policies, without MTBDD. It proves a program or says nothing about it.
//!
//! The proof covers every value of every field, also arch tokens and syscall numbers that no kernel has. It is
//! exact. Its only limit is the [budget](diagram::Budget) of nodes and steps; a proof that exceeds it is an error.
//!
//! Believing a proof requires trust in this crate, in `callgate-bpf` and in the Rust compiler, but not in the code
//! generator. `callgate-smt` writes the same question for independent solvers.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

mod cases;
pub mod diagram;
mod meaning;
pub mod policy;
mod proved;
mod refusal;
mod spec;

pub use cases::{Cases, Clause, Literal, NumberInterval, SectionCases, WordTest};
pub use meaning::{Created, Meaning};
pub use proved::Proved;
pub use refusal::{MeaningError, MeaningErrorKind, NotProved};
pub use spec::{Denial, FilterSpec, SetOperation, SetStep, Spec};
