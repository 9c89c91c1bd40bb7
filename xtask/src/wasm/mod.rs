//! `cargo xtask wasm`: the core as a WebAssembly module, and the packages for JavaScript and Go that contain it.
//!
//! The module is built with fixed flags and without paths of this machine, so that every machine with the same
//! toolchain builds the same bytes. `docs/decisions/bindings.md` says why none of them is in the repository.

mod build;
mod run;
mod translate;

pub(crate) use build::{Module, build, target};
pub(crate) use run::{HELP, javascript, run};
