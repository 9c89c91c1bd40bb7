//! The common options as `fuzz` interprets them: `--kernel` takes an optional version, and without `--model` and
//! `--optimize`, all values are tried.

use std::ffi::OsString;
use std::str::FromStr;

use clap::builder::{OsStringValueParser, TypedValueParser};
use clap::error::Error;
use clap::{ArgMatches, Args, Command, FromArgMatches};

use crate::options::{CompileOptions, KernelArg, RUNNING, SourceOptions};

/// How the source is read.
#[derive(Debug)]
pub(super) struct FuzzSourceOptions(pub(super) SourceOptions);

/// How it is compiled.
#[derive(Debug)]
pub(super) struct FuzzCompileOptions(pub(super) CompileOptions);

impl Args for FuzzSourceOptions {
    fn augment_args(command: Command) -> Command {
        SourceOptions::augment_args(command).mut_arg("kernel", |kernel| {
            // Anything but a version is the source, as in `fuzz --kernel profile.json`.
            let parser = OsStringValueParser::new().map(|text: OsString| {
                let known = text.to_str().and_then(|text| KernelArg::from_str(text).ok());
                known.unwrap_or(KernelArg::Source(text))
            });
            kernel.num_args(0..=1).default_missing_value(RUNNING).value_parser(parser).help(
                "Without a version, also test the running kernel; with one, the kernel version for \
                     conditions of a profile [default: that of the running kernel]",
            )
        })
    }

    fn augment_args_for_update(command: Command) -> Command {
        FuzzSourceOptions::augment_args(command)
    }
}

impl FromArgMatches for FuzzSourceOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<FuzzSourceOptions, Error> {
        SourceOptions::from_arg_matches(matches).map(FuzzSourceOptions)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}

impl Args for FuzzCompileOptions {
    fn augment_args(command: Command) -> Command {
        CompileOptions::augment_args(command)
            .mut_arg("model", |model| model.help("The cost model [default: all]"))
            .mut_arg("optimize", |aim| {
                // The long help of the other commands names another default.
                aim.long_help(None).help("The optimization goal [default: both]")
            })
    }

    fn augment_args_for_update(command: Command) -> Command {
        FuzzCompileOptions::augment_args(command)
    }
}

impl FromArgMatches for FuzzCompileOptions {
    fn from_arg_matches(matches: &ArgMatches) -> Result<FuzzCompileOptions, Error> {
        CompileOptions::from_arg_matches(matches).map(FuzzCompileOptions)
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        self.0.update_from_arg_matches(matches)
    }
}
