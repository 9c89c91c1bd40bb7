//! `cargo xtask kafel`: compares the reader of Kafel policies with a build of Kafel's own compiler. The program that it
//! generates must have the same MTBDD as our policy.
//!
//! [`random`] makes policies, [`compiler`] runs the other compiler, [`run`] compares and counts.

mod compiler;
mod options;
mod random;
mod run;

pub(crate) use options::HELP;
pub(crate) use run::run;
