//! `cargo xtask release VERSION`: builds everything that is published, checks it, and lists it with checksums.
//!
//! A part is what one kind of user installs: a module of this directory, and an entry in `parts.rs`. It writes its files below
//! `Context::output` and returns what they are. Two builds of a commit
//! with the tools that `MANIFEST.txt` names have the same bytes.

mod archive;
mod c;
mod command;
mod context;
mod crates;
mod debian;
mod documents;
mod drop_in;
mod go;
mod image;
mod manifest;
mod newcomer;
mod notices;
mod npm;
mod options;
mod part;
mod parts;
mod python;
mod root;
mod run;
mod sbom;
mod toolchain;

pub(crate) use options::HELP;
pub(crate) use run::run;
