//! `callgate test`: runs a command without a filter, and lists the syscalls that a filter would have denied.

use std::ffi::OsString;
use std::path::PathBuf;

use callgate_core::diagram::Store;
use callgate_record::{Note, Recorded, exit_status};
use callgate_trace::check::{Finding, check};
use callgate_trace::recording::{Effect, Run};
use clap::ValueHint;

use super::check::{json, table, warn_about_arches};
use super::record::{MethodArg, RecordedCommand, RecordedWords, warn_about};
use crate::options::{Format, SourceOptions};
use crate::output::{self, NewFile};
use crate::report::{self, Failure, Result};
use crate::source::{BUILT_IN, Combine, Source};

/// Run a command without a filter, and list the syscalls that a filter would deny
#[derive(Debug, clap::Args)]
#[command(after_help = "\
Nothing is denied: the command runs as usual and is recorded as by callgate
record, and its syscalls are then checked with their values as by callgate
check. So one run lists all that is missing in a profile. After a syscall that
is really denied, the command may make others.

The command uses the terminal and the standard streams; the result goes to
standard error at the end, or to a file (-o). \"all\", \"with\" and \"perhaps\"
mean the same as in callgate check. To keep the recording, use callgate record
and callgate check; callgate generate --update adds what it needs to the
profile.

Examples:
  callgate test profile.json -- my-server --once
  callgate test container-default --caps none -- make -j8
  callgate test profile.json --format json -o result.json -- my-server --once

Exit status: 0 nothing is denied, 1 something is or may be denied, 2 error; 127
if the command is not found, 126 if it cannot be executed. If the recording is
incomplete and nothing is denied, that is an error, because the filter may deny
what is missing. The exit status of the command is printed if it is not 0.")]
pub(crate) struct DryRunArgs {
    /// The filter, a SOURCE (see `callgate --help`)
    #[arg(default_value = BUILT_IN, value_hint = ValueHint::FilePath)]
    source: OsString,

    /// How to observe syscalls [default: tracepoint if possible, otherwise ptrace]
    #[arg(long, value_name = "METHOD", default_value = "auto", hide_default_value = true)]
    via: MethodArg,

    /// Write the report to this file, atomically; - is standard output, which the command uses, too [default: standard error]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// The format of the report
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,

    #[command(flatten)]
    reading: SourceOptions,

    /// The command and its arguments
    #[arg(value_name = "CMD", required = true, last = true)]
    command: Vec<OsString>,
}

pub(crate) fn run(args: &DryRunArgs) -> Result<u8> {
    // Errors of the filter are reported before the command runs.
    let filter = Source::parse(&args.source)?.read(&args.reading)?;
    let mut store = Store::default();
    let root = filter.diagram(&mut store)?;
    let command = RecordedCommand::find(&args.command, RecordedWords::Name)?;
    let is_file = |path: &&PathBuf| path.as_os_str() != "-";
    let file =
        args.output.as_ref().filter(is_file).map(|path| NewFile::prepare(path)).transpose()?;
    let recorded = command.record(args.via, None)?;
    warn_about(&recorded, false, None);
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
    let result = match args.format {
        Format::Text => table(recording, &filter.name, &findings),
        Format::Json => json(recording, &filter.name, &findings),
    };
    match (file, &args.output) {
        // A file has no colors.
        (Some(file), _) => {
            file.finish(anstream::adapter::strip_str(&result).to_string().as_bytes())?;
        }
        (None, Some(_)) => output::print(&result)?,
        (None, None) => report::note(&result),
    }
    if findings.iter().any(Finding::is_denied) {
        return Ok(1);
    }
    if is_incomplete(&recorded) {
        return Err(Failure::new(
            "the recording is incomplete, and the filter may deny what is missing",
        )
        .help("see the warnings above"));
    }
    Ok(0)
}

/// Whether syscalls are missing in a recording.
fn is_incomplete(recorded: &Recorded) -> bool {
    let is_lacking = |run: &Run| {
        run.lost > 0 || run.caveats.iter().any(|caveat| caveat.effect == Effect::Incomplete)
    };
    recorded.recording.runs().iter().any(is_lacking) || recorded.notes.iter().any(Note::is_failure)
}
