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
//! business of `callgate-linux`.
#![forbid(unsafe_code)]
#![cfg_attr(not(test), warn(clippy::unwrap_used, clippy::expect_used, clippy::panic))]

pub mod compile;
pub mod explain;
pub mod fuzz;
pub mod optimize;
pub mod stack;

pub use callgate_bpf as bpf;
pub use callgate_bpf::{
    Action, Arch, Endian, SeccompData, Verdict, Word, data, diagnostic, random, syscalls, verdict,
};
pub use callgate_codegen as codegen;
pub use callgate_formats as frontend;
pub use callgate_proof::{diagram, policy};
pub use callgate_trace::{check, counts, generate, read, recording};
