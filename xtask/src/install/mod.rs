//! `cargo xtask install`: builds a library for C and installs it with its headers. Packages contain what it installs.

mod build;
pub(crate) mod elf;
mod library;
mod options;
mod pkgconfig;
mod place;
mod run;

pub(crate) use library::Library;
pub(crate) use options::{HELP, Place};
pub(crate) use pkgconfig::text as pkgconfig_text;
pub(crate) use run::{install, run};
