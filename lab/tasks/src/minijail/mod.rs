//! `cargo lab minijail`: compares the reader of minijail's policies with minijail's compiler in Python. The program that
//! it generates must have the same MTBDD as our policy.
//!
//! [`random`] makes policies, [`compiler`] runs the compiler, [`constants`] gives it names and numbers, [`run`](mod@run) compares
//! and counts.

mod compiler;
mod constants;
mod options;
mod random;
mod run;

pub(crate) use compiler::compile;
pub(crate) use constants::with_our_syscalls;
pub(crate) use options::HELP;
pub(crate) use run::run;
