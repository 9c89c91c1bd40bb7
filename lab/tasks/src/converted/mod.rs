//! `cargo lab converted`: filters that `callgate convert` writes, compiled by the programs that use the languages. Their
//! programs must have the same MTBDD as the filter that was converted.
//!
//! [`sources`]: the filters; [`compilers`]: the programs; [`run`](mod@run): converts, compiles, compares and counts.

mod compilers;
mod options;
mod run;
mod sources;

pub(crate) use options::HELP;
pub(crate) use run::run;
