//! Measures the same C program with several libraries `libseccomp.so.2`: time of all functions up to the end of
//! `seccomp_load`, memory and instructions.

mod rules;
mod run;

pub(crate) use run::{HELP, run};
