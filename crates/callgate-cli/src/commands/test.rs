//! `callgate test`: runs a command without a filter, and lists the syscalls that a filter would have denied.

use std::ffi::OsString;

use callgate::check::{Finding, check};
use callgate::diagram::Store;
use callgate_linux::Command;
use callgate_record::{exit_status, record};
use clap::ValueHint;

use super::check::{json, table, warn_about_arches};
use super::record::{MethodArg, warn_about};
use crate::options::{Format, SourceOptions};
use crate::report::{self, Failure, Result};
use crate::source::Source;

/// Run a command without a filter, and list the syscalls that a filter would deny
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Nothing is denied: the command runs as usual and is recorded as by callgate
record, and its syscalls are then checked with their values as by callgate
check. So one run lists all that is missing in a profile. After a syscall that
is really denied, the command may make others.

The command uses the terminal and the standard streams; the result goes to
standard error at the end. \"all\", \"with\" and \"perhaps\" mean the same as in
callgate check. To keep the recording, use callgate record and callgate check;
callgate generate --update adds what it needs to the profile.

Examples:
  callgate test profile.json -- my-server --once
  callgate test container-default --caps none -- make -j8

Exit status: 0 nothing is denied, 1 something is or may be denied, 2 error; 127
if the command is not found, 126 if it cannot be executed. The exit status of
the command is printed if it is not 0.")]
pub(crate) struct TestArgs {
    /// The filter, a SOURCE (see `callgate --help`)
    #[arg(value_hint = ValueHint::FilePath)]
    source: OsString,

    /// How to observe syscalls [default: tracepoint if possible, otherwise ptrace]
    #[arg(long, value_name = "METHOD", default_value = "auto", hide_default_value = true)]
    via: MethodArg,

    /// The format of the result
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,

    #[command(flatten)]
    reading: SourceOptions,

    /// The command and its arguments
    #[arg(value_name = "CMD", required = true, last = true)]
    command: Vec<OsString>,
}

pub(crate) fn run(args: &TestArgs) -> Result<u8> {
    // Errors of the filter are reported before the command runs.
    let filter = Source::parse(&args.source)?.read(&args.reading)?;
    let mut store = Store::default();
    let root = filter.diagram(&mut store)?;
    let command = Command::find(&args.command)
        .map_err(|error| Failure::new(error.to_string()).status(error.exit_status()))?;
    let words = args.command.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    let recorded = record(&command, words, args.via.methods()).map_err(|error| {
        Failure::new(error.to_string()).help(error.help()).status(error.exit_status())
    })?;
    warn_about(&recorded, false);
    let status = exit_status(recorded.status);
    if status != 0 {
        report::warn(
            format!("the exit status of the command is {status}"),
            "a run that fails may not make the usual syscalls",
        );
    }
    let recording = &recorded.recording;
    warn_about_arches(recording, &filter);
    let findings = check(&mut store, root, recording)
        .map_err(|error| Failure::about(&filter.name, error.to_string()))?;
    report::note(&match args.format {
        Format::Text => table(recording, &filter.name, &findings),
        Format::Json => json(recording, &filter.name, &findings),
    });
    Ok(u8::from(findings.iter().any(Finding::is_denied)))
}
