//! `cargo lab workloads`: whether programs survive under the profiles that are generated from recordings of them, and
//! whether these profiles let a process create namespaces.

mod options;
mod probe;
mod run;
mod runner;
mod workload;

pub(crate) use options::HELP;
pub(crate) use run::run;
