//! `cargo xtask web`: the web page as a directory of static files.

mod run;

pub(crate) use run::{HELP, run};
