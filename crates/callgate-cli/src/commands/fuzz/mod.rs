//! `callgate fuzz`: compares the forms of a filter, or two filters, syscall by syscall.

mod args;
mod forms;
mod kernel;
mod limits;
mod options;
mod outcome;
mod pair;
mod report;
mod run;
mod search;

pub(crate) use args::FuzzArgs;
pub(crate) use run::run;

#[cfg(test)]
mod tests;
