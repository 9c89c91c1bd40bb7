//! `cargo xtask wasm`: the core as a WebAssembly module, and the packages for JavaScript and Go that contain it.
//!
//! The module is built with fixed flags and without paths of this machine, so that every machine with the same
//! toolchain builds the same bytes. `docs/developers/decisions/bindings.md` says why none of them is in the repository.

mod build;
mod go_module;
mod js_package;
mod run;

pub(crate) use build::{BINDINGS, Module, build, target};
pub(crate) use go_module::write_go_module;
pub(crate) use js_package::write_js_package;
pub(crate) use run::{HELP, run, write_module};
