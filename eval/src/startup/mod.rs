//! Time from the start of a process to an installed filter: emitted source code beside libseccomp.

mod build;
mod run;

pub(crate) use run::{HELP, run};
