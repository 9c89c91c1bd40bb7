//! `cargo lab firecracker`: compares the reader of Firecracker's filters with the crate `seccompiler`. The program that
//! it generates must have the same MTBDD as our policy.
//!
//! [`random`] makes documents, [`compiler`] runs `seccompiler`, [`compare`] compares one, [`run`](mod@run) counts.

mod compare;
mod compiler;
mod options;
mod random;
mod run;

pub(crate) use compiler::compile;
pub(crate) use options::HELP;
pub(crate) use run::run;
