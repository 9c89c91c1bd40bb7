//! `cargo lab startup`: ways to have a filter with variables ready when a program starts.
//!
//! [`variants`] lists the programs, whose sources are in `drivers/`; [`builder`] builds them, [`measure`] runs them in turns,
//! [`lines`] counts the lines that their users write, and [`verify`] compares the filters that they install. [`report`] writes
//! the tables.

mod builder;
mod lines;
mod measure;
mod options;
mod report;
mod run;
mod variants;
mod verify;

pub(crate) use options::HELP;
pub(crate) use run::run;
