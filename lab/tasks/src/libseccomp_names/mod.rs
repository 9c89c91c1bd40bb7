//! `cargo lab libseccomp-names`: compares how `callgate-seccomp` and a libseccomp resolve names and numbers of syscalls.

mod compare;
mod run;

pub(crate) use run::{HELP, run};
