//! `cargo xtask figures`: the measured values that documents quote, in one file.
//!
//! `docs/figures.json` has each measured value once, with the command, the machine, the date and the spread, and the phrases that
//! quote it. `cargo xtask structure` checks that each phrase is in its document with this value and in no document with another
//! one, that `lab/results/figures.md` shows the file, and that runs whose code has changed since then are marked as older.

mod code;
mod page;
mod quotes;
mod registry;
mod run;

pub(crate) use run::{HELP, check, run};
