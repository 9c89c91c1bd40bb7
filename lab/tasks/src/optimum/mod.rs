//! `cargo lab optimum`: the distance of the code generator from the optimum, for functions of one word that are small
//! enough to find the best program.
//!
//! [`function`] and [`code`] define the functions and the class of programs; [`search`] finds the best program of the class
//! by branch and bound, with [`state`] and [`facts`]. [`instances`] makes random functions, [`generator`] compiles them,
//! [`compare`] compares, and [`text`] writes lab/results/optimum.md.
//!
//! The search is exact, or it says that its budget was exhausted. Each program that it finds is checked by `Program::new` and
//! proved to compute the function; that no better one exists is compared with exhaustive enumeration in a test.

mod code;
mod compare;
#[cfg(test)]
mod enumeration;
mod facts;
mod function;
mod generator;
mod instances;
mod options;
mod run;
mod search;
mod state;
mod summary;
mod text;

pub(crate) use options::HELP;
pub(crate) use run::run;
