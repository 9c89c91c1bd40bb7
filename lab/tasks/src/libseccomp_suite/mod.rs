//! `cargo lab libseccomp-suite`: runs libseccomp's regression suite against a `libseccomp.so.2`.
//!
//! [`sources`] copies the suite's sources, [`library`] the library under test, and [`compile`] links the one with
//! the other: the suite itself links the library statically, together with its simulator and its tools. [`batch`]
//! reads the tables of tests, [`simulations`] and [`commands`] run their lines, [`report`] prints the results. [`verify`] gives
//! the exported filters to the checker that is proved in Coq.
//!
//! The cases and their results are those of the suite's own script `tests/regression` in the mode `c`, with two
//! differences: a program exports its filter once instead of once per case, and tests of type `live` always run.

mod arches;
mod batch;
mod commands;
mod compile;
mod judge;
mod kind;
mod library;
mod options;
mod outcome;
mod parallel;
mod process;
mod programs;
mod report;
mod run;
mod simulations;
mod sources;
mod suite;
mod tools;
mod values;
mod verify;

pub(crate) use options::HELP;
pub(crate) use run::run;
