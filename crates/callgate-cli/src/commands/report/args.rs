//! The command line of `callgate report`.

use std::ffi::OsString;
use std::path::PathBuf;

use clap::ValueHint;

use crate::options::{CompileOptions, SourceOptions};

/// Write a page about a filter, or about what changed between two filters
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The page is one HTML file without scripts that needs no network: a summary in
words, a map of all syscalls, the conditions on arguments, the findings of
`callgate lint`, the decision tree and the program that `callgate compile`
makes, and what it costs. With two sources, it is about the second one and
starts with what was added, removed and changed.
With --weights, the tree and the program show the hot path.

The page has the date and the command line; with SOURCE_DATE_EPOCH in the
environment, it has that date, so that it can be reproduced.

Examples:
  callgate report profile.json -o page.html
  callgate report old.json new.json -o changes.html
  callgate report nginx.service --arch x86_64 -o nginx.html
  callgate report profile.json --weights recording.json -o page.html
  callgate report profile.json --measure 10 -o page.html
  callgate report pid:1234 -o process.html

Exit status: 0 success, 2 error.")]
pub(crate) struct ReportArgs {
    /// The filter, a SOURCE (see `callgate --help`); with another SOURCE, the filter before the change
    #[arg(value_hint = ValueHint::FilePath)]
    pub(super) source: OsString,

    /// The filter after the change, a SOURCE
    #[arg(value_name = "AFTER", value_hint = ValueHint::FilePath)]
    pub(super) after: Option<OsString>,

    /// Write the page to this file, atomically [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    pub(super) output: Option<PathBuf>,

    /// Measure for about this time what the filter costs on the running kernel
    #[arg(long, value_name = "SECONDS", value_parser = clap::value_parser!(u32).range(1..=3600))]
    pub(super) measure: Option<u32>,

    #[command(flatten)]
    pub(super) reading: SourceOptions,

    #[command(flatten)]
    pub(super) compiling: CompileOptions,
}
