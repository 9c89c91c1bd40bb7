//! `callgate generate`: generates a least-privilege profile from recordings.

mod args;
mod classes;
mod dangers;
mod evidence;
mod programs;
mod run;
mod summary;
mod unseen;
mod update;

pub(crate) use args::GenerateArgs;
pub(crate) use run::run;
