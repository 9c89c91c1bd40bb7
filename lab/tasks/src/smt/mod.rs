//! `cargo lab smt`: checks the proof with other solvers. z3 and cvc5 get the scripts of `callgate-smt`, and both
//! must agree with the MTBDD; the reference interpreter must confirm the difference that a model shows.
//!
//! [`shipped`] has the filters of the repository, [`broken`] makes wrong programs, [`compare`] compares, and
//! [`solver`] runs the solvers.

mod broken;
mod compare;
mod filetest;
mod options;
mod run;
mod shipped;
mod solver;
mod subject;

pub(crate) use options::HELP;
pub(crate) use run::run;
