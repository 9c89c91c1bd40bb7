//! `cargo lab kafel`: compares the reader of Kafel policies with a build of Kafel's own compiler. The program that it
//! generates must have the same MTBDD as our policy.
//!
//! [`syscalls`] lists the syscalls, [`random`] makes policies with them, [`compiler`] runs the other compiler,
//! [`run`](mod@run) compares.

mod compiler;
mod options;
mod random;
mod run;
mod syscalls;

pub(crate) use compiler::compile;
pub(crate) use options::HELP;
pub(crate) use run::run;
