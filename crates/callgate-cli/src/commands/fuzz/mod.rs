//! `callgate fuzz`: compares the forms of a filter, syscall by syscall.

mod args;
mod forms;
mod kernel;
mod options;
mod outcome;
mod report;
mod run;
mod search;

pub(crate) use args::FuzzArgs;
pub(crate) use run::run;

#[cfg(test)]
mod tests;
