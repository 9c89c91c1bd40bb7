//! `cargo lab experiments`: repeats the published experiments and writes each table with the published figures beside
//! ours.

mod measured;
mod originals;
mod run;
mod text;

pub(crate) use run::{HELP, run};
