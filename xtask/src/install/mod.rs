//! `cargo xtask install`: builds the C library and installs it with its headers.

mod build;
mod elf;
mod options;
mod pkgconfig;
mod place;
mod run;

pub(crate) use options::HELP;
pub(crate) use run::run;
