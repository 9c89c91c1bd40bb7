//! `cargo lab snap`: compares the reader of snap profiles with snapd's snap-seccomp. Both programs that it writes
//! must have the same MTBDD as our policies.
//!
//! [`random`] makes profiles, [`compiler`] runs snap-seccomp, [`run`](mod@run) compares and counts.

mod compiler;
mod options;
mod random;
mod run;

pub(crate) use compiler::compile;
pub(crate) use options::HELP;
pub(crate) use run::run;
