//! `callgate record merge`: merges many recordings into one.

use std::path::{Path, PathBuf};

use callgate::Arch;
use callgate_bpf::diagnostic::Diagnostic;
use callgate_trace::recording::{Recording, Run};
use clap::ValueHint;

use super::fleet::Fleet;
use super::label::{self, Label, label};
use super::pods::is_match;
use crate::options::{ArchParser, Format};
use crate::output;
use crate::recordings::{RecordingOptions, read_merged};
use crate::report::{self, Result as Checked};

#[derive(Debug, clap::Args)]
#[command(after_help = "\
The merged recording keeps everything that callgate generate uses: in how many
recordings a syscall and each of its values occurred, and the caveats of each
run. It therefore leads to the same profile as the single recordings, in any
order, and merged recordings can be merged again. A run that is given twice
counts once, if callgate record recorded it; logs of other tools have no
identity, so give each once.

A FILE is a recording, a strace log, a table of strace -c or perf trace -s,
SECCOMP records of the audit log, dmesg or journalctl, a stream with one
recording per line (NDJSON), or a directory with such files; - is standard
input. Recordings are read one after the other, so a fleet may have thousands.

--format prints which syscalls were made under one label only, for example on
one node: on standard output with -o, otherwise on standard error.

Examples:
  callgate record merge monday.json tuesday.json -o week.json
  callgate record merge --label node=a node-a/ -o a.json
  callgate record merge a.json b.json -o fleet.json --format text
  callgate record merge recordings/ --only container=web -o web.json
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

    /// Merge only recordings with this label, of a directory with those of several programs; * in VALUE is any text; may be
    /// repeated
    #[arg(long, value_name = "KEY=VALUE", value_parser = label)]
    only: Vec<Label>,

    /// Print which syscalls were made under one label only
    #[arg(long, value_name = "FORMAT")]
    format: Option<Format>,

    /// The architecture of logs that do not contain it [default: this machine's]
    #[arg(long, value_name = "ARCH", value_parser = ArchParser, hide_possible_values = true)]
    arch: Option<Arch>,

    /// Treat unknown names of syscalls in logs as errors
    #[arg(long)]
    strict: bool,

    /// Read the complete entries of truncated recordings, which the result notes, and skip recordings that cannot be read
    #[arg(long)]
    partial: bool,
}

pub(super) fn merge(args: &MergeArgs) -> Checked<u8> {
    label::check(&args.label, false)?;
    let MergeArgs { arch, strict, partial, .. } = *args;
    let options = RecordingOptions { arch, strict, partial };
    let merged = read_merged(&args.files, options, &|recording| {
        Ok(has_labels(recording, &args.only)?
            && label::add(recording, &args.label).map(|()| true)?)
    })?;
    write(&merged.recording, args.output.as_deref())?;
    if let Some(format) = args.format {
        let fleet = Fleet::of(&merged);
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

/// Writes a recording to a file or to standard output.
pub(super) fn write(recording: &Recording, path: Option<&Path>) -> Checked<()> {
    match path.filter(|path| path.as_os_str() != "-") {
        Some(path) => output::write_recording(path, recording.to_json().as_bytes()),
        None => output::print(&recording.to_json()),
    }
}

/// Whether the runs of a recording have these labels. Of a merged recording, all runs must have them or none.
fn has_labels(recording: &Recording, wanted: &[Label]) -> Result<bool, Diagnostic> {
    let has = |run: &Run| {
        let has_one = |Label { key, value }: &Label| {
            run.labels.get(key).is_some_and(|found| is_match(value, found))
        };
        wanted.iter().all(has_one)
    };
    let (runs, with) =
        (recording.runs().len(), recording.runs().iter().filter(|run| has(run)).count());
    match with {
        0 => Ok(wanted.is_empty()),
        _ if with == runs => Ok(true),
        _ => Err(Diagnostic::error(
            None,
            format!(
                "{with} of {runs} runs have the labels of --only, and a merged recording cannot be taken apart"
            ),
        )
        .help("give the recordings that it was merged from")),
    }
}
