//! `cargo xtask release VERSION`: builds everything that is published, checks it, and lists it with checksums.
//!
//! A part is what one kind of user installs: a file of this directory, and a line in `parts.rs`. It writes its files below
//! `Context::output` and returns what they are. Two builds of a commit have the same bytes.

mod archive;
mod context;
mod go;
mod manifest;
mod npm;
mod options;
mod part;
mod parts;
mod python;
mod run;

pub(crate) use options::HELP;
pub(crate) use run::run;
