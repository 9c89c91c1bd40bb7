//! `callgate record merge`: merges many recordings into one.

use std::path::PathBuf;

use callgate::Arch;
use callgate::diagnostic::{Diagnostic, Position};
use callgate::recording::{MAX_LABELS, MergeError, Merger, Merging, Recording};
use clap::ValueHint;

use super::fleet::Fleet;
use super::label::{Label, label};
use super::write::write;
use crate::options::{ArchParser, Format};
use crate::output;
use crate::recordings::{Origin, RecordingOptions, read_each};
use crate::report::{self, Failure, Result};
use crate::source::Place;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The merged recording keeps everything that callgate generate uses: in how many
recordings a syscall and each of its values occurred, and the caveats of each
run. It therefore leads to the same profile as the single recordings, in any
order, and merged recordings can be merged again. A run that is given twice
counts once, if callgate record recorded it; logs of other tools have no
identity, so give each once.

A FILE is a recording, a log of strace, a table of strace -c or perf trace -s,
SECCOMP records of the audit log, dmesg or journalctl, a stream with one
recording per line (NDJSON), or a directory with such files; - is standard
input. Recordings are read one after the other, so a fleet may have thousands.

--format prints which syscalls were made under one label only, for example on
one node: on standard output with -o, otherwise on standard error.

Examples:
  callgate record merge monday.json tuesday.json -o week.json
  callgate record merge --label node=a node-a/ -o a.json
  callgate record merge a.json b.json -o fleet.json --format text
  ssh node cat recordings.ndjson | callgate record merge - -o node.json
  callgate generate fleet.json -o profile.json

Exit status: 0 success, 2 error.")]
pub(super) struct MergeArgs {
    /// Recordings, streams or directories of them, or logs and tables of other tools
    #[arg(required = true, value_name = "FILE", value_hint = ValueHint::AnyPath)]
    files: Vec<PathBuf>,

    /// Write the recording to this file, atomically [default: standard output]
    #[arg(short, long, value_name = "FILE", value_hint = ValueHint::FilePath)]
    output: Option<PathBuf>,

    /// Add a label to runs that have none with this key; may be repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    label: Vec<Label>,

    /// Print which syscalls were made under one label only
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,

    /// The architecture of logs that do not contain it [default: this machine's]
    #[arg(long, value_name = "ARCH", value_parser = ArchParser, hide_possible_values = true)]
    arch: Option<Arch>,

    /// Treat unknown syscall names in logs as errors
    #[arg(long)]
    strict: bool,

    /// Read the complete entries of truncated recordings, which the result notes, and skip recordings that cannot be read
    #[arg(long)]
    partial: bool,
}

pub(super) fn merge(args: &MergeArgs) -> Result<u8> {
    let Merged { all, read, repeated, skipped } = merged(args)?;
    write(&all, args.output.as_deref())?;
    if let Some(format) = args.format {
        let fleet = Fleet { all: &all, read, repeated, skipped };
        let text = match format {
            Format::Text => fleet.text(),
            Format::Json => fleet.json(),
        };
        match args.output.as_deref().filter(|path| path.as_os_str() != "-") {
            Some(_) => output::print(&text)?,
            None => report::note(&text),
        }
    }
    Ok(0)
}

/// The result, and how many recordings were read, were contained in others, and could not be read.
struct Merged {
    all: Recording,
    read: u64,
    repeated: u64,
    skipped: u64,
}

/// Reads and merges the recordings: in one pass, unless a recording comes after a part of it.
fn merged(args: &MergeArgs) -> Result<Merged> {
    let MergeArgs { arch, strict, partial, .. } = *args;
    let options = RecordingOptions { arch, strict, partial };
    let mut merger = Merger::default();
    let mut is_first = true;
    loop {
        let (mut origins, mut labels) = (Vec::new(), Ok(()));
        let mut add = |mut recording: Recording, origin: Origin| {
            args.label.iter().for_each(|Label { key, value }| recording.label(key, value));
            if labels.is_ok() {
                labels = check_labels(&recording, &origin);
            }
            merger.add(recording);
            origins.push(origin);
        };
        let skipped = read_each(&args.files, options, !is_first, &mut add)?;
        labels?;
        let read = origins.len();
        if read == 0 {
            return Err(Failure::new("no recording can be read").help("see the warnings above"));
        }
        match merger.finish().map_err(|error| failed(&error, &origins))? {
            Merging::Done { merged, taken } => {
                let repeated = (read - taken) as u64;
                return Ok(Merged { all: merged, read: read as u64, repeated, skipped });
            }
            Merging::Again(again) => merger = again,
        }
        check_readable_again(&args.files)?;
        is_first = false;
    }
}

/// An error if a run has so many labels that the result could not be read.
fn check_labels(recording: &Recording, origin: &Origin) -> Result<()> {
    let most = recording.runs().iter().map(|run| run.labels.len()).max().unwrap_or(0);
    match most > MAX_LABELS {
        false => Ok(()),
        true => Err(Failure::about(
            &*origin.name,
            format!("a run gets {most} labels, but may have at most {MAX_LABELS}"),
        )
        .help("give fewer --label")),
    }
}

/// An error if an input can be read only once.
fn check_readable_again(files: &[PathBuf]) -> Result<()> {
    match files.iter().find(|path| !path.is_file() && !path.is_dir()) {
        None => Ok(()),
        Some(path) => Err(Failure::about(
            Place::of_path(path).name(),
            "a recording comes after parts of it, so the input must be read twice",
        )
        .help("write the input to a file, or put merged recordings first")),
    }
}

fn failed(error: &MergeError, origins: &[Origin]) -> Failure {
    let [one, other] = error.recordings().map_or([None; 2], |both| both.map(|at| origins.get(at)));
    match (one, other) {
        (Some(one), Some(other)) => {
            let line = |origin: &Origin| match origin.line {
                0 | 1 => String::new(),
                line => format!(":{line}"),
            };
            let message = format!("{error}: this one and {}{}", other.name, line(other));
            let position = (one.line > 1).then_some(Position { line: one.line, column: 1 });
            Failure::of(&*one.name, vec![Diagnostic::error(position, message).help(error.help())])
        }
        _ => Failure::new(error.to_string()).help(error.help()),
    }
}
