//! Policies that consist of several files: the files that they include, places in them, and messages with both.
//!
//! A reader does no I/O, so included files come from a function that the caller gives.

mod inclusions;
mod report;
mod source;
mod sources;
mod stated;

pub(crate) use inclusions::{Inclusions, Opened, check_text_size};
pub(crate) use report::{OTHER, Reports};

pub(crate) use source::no_files;
pub use source::{Included, Includes};
pub(crate) use sources::{Place, Sources, Span};
pub(crate) use stated::{Stated, statements};
