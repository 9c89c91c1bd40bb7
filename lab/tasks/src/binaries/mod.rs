//! `cargo lab binaries`: how precise the syscalls are that `callgate generate --binary` finds in code, beside recordings of
//! scripted uses of Debian's programs, and of programs that are compiled for it.

mod built;
mod measure;
mod options;
mod report;
mod run;
mod score;
mod uses;

pub(crate) use options::HELP;
pub(crate) use run::run;
