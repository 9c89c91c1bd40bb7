//! Measures the same C program with several libraries `libseccomp.so.2`, for the rule sets of `cargo lab compare`: time
//! of all functions up to the end of `seccomp_load`, page faults, memory and instructions.

mod driver;
mod options;
mod run;

pub(crate) use options::HELP;
pub(crate) use run::run;
