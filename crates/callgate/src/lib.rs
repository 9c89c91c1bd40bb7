//! Compile, prove, explain and compare Linux seccomp filters.
//!
//! A seccomp filter is a pure function from the 64 bytes of `struct seccomp_data` to a 32-bit
//! [`Verdict`]. Every description of a filter is read into a [`policy::Policy`] or a
//! [`bpf::Program`]; both become the same canonical [`diagram`], in which two filters are equal
//! exactly when their roots are the same node. The code generator turns a diagram into a program,
//! and that program goes back into the diagram before anybody sees it: nothing leaves this crate
//! unproved.
//!
//! This crate is pure: it does no I/O and contains no `unsafe` code. Installing filters is the
//! business of `callgate-sys`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod bpf;
pub mod check;
pub mod codegen;
pub mod compile;
pub mod data;
pub mod diagnostic;
pub mod diagram;
pub mod explain;
pub mod frontend;
pub mod fuzz;
pub mod generate;
pub mod optimize;
pub mod policy;
pub mod recording;
pub mod stack;
mod suggest;
pub mod syscalls;
pub mod verdict;

pub use data::{Endian, SeccompData, Word};
pub use syscalls::Arch;
pub use verdict::{Action, Verdict};
