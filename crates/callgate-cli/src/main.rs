//! The `callgate` command: reads sources, calls the `callgate` library, and prints results and errors.
//!
//! - [`cli`]: the command line as a whole; [`arguments`]: the parser of its words; each file of [`commands`] holds one subcommand.
//! - [`advice`]: advice of the libraries in the words of the command.
//! - [`help`]: the headings of options, and the short help of `-h`; [`hints`]: usual mistakes on the command line.
//! - [`source_words`]: where the source stands among the words.
//! - [`options`]: the options that subcommands share.
//! - [`comparison`]: the command line of the subcommands that compare two filters.
//! - [`socket_filters`]: compares and optimizes filters of packets.
//! - [`source`]: reads profiles, programs and the filters of processes.
//! - [`emit`]: writes programs with their figures; [`generating`]: the options of subcommands that do so.
//! - [`policy_text`]: policy texts of sources.
//! - [`verified`]: the checker that is proved in Coq.
//! - [`smt2`]: scripts for SMT solvers.
//! - [`binary`]: finds the libraries of programs, and the syscalls of their code.
//! - [`recordings`]: reads recordings and logs of syscalls.
//! - [`page_facts`]: where a page is from.
//! - [`report`], [`output`], [`wrapping`], [`text`], [`markdown`]: messages, results and their formats.
#![deny(unsafe_code)]

mod advice;
mod any_values;
mod arguments;
mod binary;
mod called;
mod cli;
mod commands;
mod comparison;
mod differences;
mod emit;
mod generating;
mod help;
mod hints;
mod inputs;
mod markdown;
mod metrics;
mod options;
mod outcome;
mod output;
mod packets;
mod page_facts;
mod policy_text;
mod progress;
mod recordings;
mod report;
mod selection;
mod signals;
mod smt2;
mod socket_filters;
mod source;
mod source_words;
mod stopwatch;
mod text;
mod verified;
mod wrapping;

use std::process::ExitCode;

fn main() -> ExitCode {
    signals::set_own();
    report::to_standard_error();
    match cli::run() {
        Ok(status) => ExitCode::from(status),
        Err(failure) => ExitCode::from(failure.print()),
    }
}
