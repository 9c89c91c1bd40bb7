//! `cargo lab compare`: compares Callgate with other compilers.
//!
//! [`sets`] has the rule sets, in the neutral form of [`rules`]; [`peers`] builds and runs the other compilers;
//! [`measure`] measures all programs and compares their MTBDDs; [`growth`] compiles increasing numbers of rules of
//! the [`families`]; [`installed`] reads the filters that other programs install; [`own`] compiles everything with
//! Callgate alone; [`tournament`] draws random sets, and [`drop_in`] compares `libseccomp.so.2` with the original for them. [`document`] writes the report. A new part needs a name in [`Part`](options::Part) and a section of the report.

mod chart;
mod document;
mod drop_in;
mod engines;
mod families;
mod generate;
mod growth;
mod installed;
mod measure;
mod options;
mod own;
mod peers;
mod plain;
#[cfg(test)]
mod quick;
mod rules;
mod run;
mod sets;
mod text;
mod tournament;
mod workloads;

pub(crate) use drop_in::{HELP as DROP_IN_HELP, run as drop_in};
pub(crate) use options::HELP;
pub(crate) use run::run;
pub(crate) use sets::texts as rule_sets;
pub(crate) use tournament::{HELP as TOURNAMENT_HELP, run as tournament};
pub(crate) use workloads::weights;
