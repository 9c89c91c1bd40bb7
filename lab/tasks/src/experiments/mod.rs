//! `cargo lab experiments`: repeats the published experiments and writes each table with the published figures beside
//! ours, and a table of all published measurements.

mod measured;
mod originals;
mod published;
mod run;
mod seeds;
mod text;

pub(crate) use run::{HELP, run};
