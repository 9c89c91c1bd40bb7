//! `cargo xtask release VERSION`: builds everything that is published, checks it, and lists it with checksums.
//!
//! A part is what one kind of user installs: a module of this directory, and an entry in `parts.rs`. It writes its files below
//! `Context::output` and returns what they are. Two builds of a commit have the same bytes.

mod archive;
mod c;
mod command;
mod context;
mod debian;
mod drop_in;
mod image;
mod manifest;
mod notices;
mod options;
mod part;
mod parts;
mod root;
mod run;
mod toolchain;

pub(crate) use options::HELP;
pub(crate) use run::run;
