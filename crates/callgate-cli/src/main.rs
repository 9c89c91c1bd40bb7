//! The `callgate` command: a thin layer over the `callgate` library that reads sources, prints results
//! and turns errors into messages and exit statuses.
//!
//! - [`cli`]: the command line as a whole; each file of [`commands`] holds one subcommand.
//! - [`options`]: the options that subcommands share.
//! - [`source`]: everything that means a filter, read into a profile or a program.
//! - [`emit`]: programs in every form, with their figures.
//! - [`smt2`]: scripts for other solvers.
//! - [`recordings`]: what programs called, read from files.
//! - [`report`], [`output`], [`json`], [`text`]: messages, results, and their forms for machines and people.
#![deny(unsafe_code)]

mod call;
mod cli;
mod commands;
mod emit;
mod json;
mod options;
mod output;
mod packets;
mod progress;
mod recordings;
mod report;
mod signals;
mod smt2;
mod source;
mod stopwatch;
mod text;

use std::process::ExitCode;

fn main() -> ExitCode {
    signals::set_own();
    match cli::run() {
        Ok(status) => ExitCode::from(status),
        Err(failure) => ExitCode::from(failure.print()),
    }
}
