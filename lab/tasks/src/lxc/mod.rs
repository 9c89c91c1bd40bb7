//! `cargo lab lxc`: compares the reader of LXC's profiles with LXC's own parser, built from its sources. The program
//! that LXC would install must have the same MTBDD as our policy.
//!
//! [`random`] makes profiles, [`parser`] builds and runs LXC's parser, [`run`](mod@run) compares and counts.

mod options;
mod parser;
mod random;
mod run;

pub(crate) use options::HELP;
pub(crate) use parser::Parser;
pub(crate) use run::run;
