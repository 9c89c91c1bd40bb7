//! The common options, with what `fuzz` makes of them: `--kernel` may stand without a version, and
//! without `--model` and `--optimize` all of them are tried.

use std::ffi::OsString;
use std::str::FromStr;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::error::Error;
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::options::{CompileOptions, KernelArg, RUNNING, SourceOptions};

/// How the source is read.
#[derive(Debug)]
pub(super) struct Reading(pub(super) SourceOptions);

/// What programs are made of it.
#[derive(Debug)]
pub(super) struct Compiling(pub(super) CompileOptions);

impl Args for Reading {
    fn augment_args(command: Command) -> Command {
        SourceOptions::augment_args(command).mut_arg("kernel", |kernel| {
            // What is no version is the source, as in `fuzz --kernel profile.json`.
            let parser = OsStringValueParser::new().map(|text: OsString| {
                let known = text.to_str().and_then(|text| KernelArg::from_str(text).ok());
                known.unwrap_or(KernelArg::Source(text))
            });
            kernel.num_args(0..=1).default_missing_value(RUNNING).value_parser(parser).help(
                "Ask the running kernel, too; with a version: the kernel that a profile's \
                     version conditions ask about",
            )
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Reading::augment_args(command)
    }
}

impl FromArgMatches for Reading {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Reading, Error> {
        SourceOptions::from_arg_matches(matches).map(Reading)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl Args for Compiling {
    fn augment_args(command: Command) -> Command {
        CompileOptions::augment_args(command)
            .mut_arg("model", |model| model.help("What the kernel does at run time [default: all]"))
            .mut_arg("optimize", |aim| {
                // The long help of the other commands has another default.
                aim.long_help(None).help(
                    "What comes first: the expected cost of a call, or the length of the \
                          program [default: both]",
                )
            })
    }

    fn augment_args_for_update(command: Command) -> Command {
        Compiling::augment_args(command)
    }
}

impl FromArgMatches for Compiling {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Compiling, Error> {
        CompileOptions::from_arg_matches(matches).map(Compiling)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}
