//! Reads and merges many recordings: in one pass, unless a recording comes after a part of it.

use std::path::Path;

use callgate_bpf::diagnostic::{Diagnostic, Position};
use callgate_trace::recording::{MergeError, Merger, Merging, Recording};

use super::files::RecordingOptions;
use super::stream::{Origin, read_each};
use crate::report::{Failure, Result};
use crate::source::Place;
use crate::text::counted;

/// A merged recording.
pub(crate) struct Merged {
    pub(crate) recording: Recording,
    /// How many recordings were read.
    pub(crate) read: u64,
    /// How many of them were contained in others.
    pub(crate) repeated: u64,
    /// How many could not be read.
    pub(crate) skipped: u64,
}

/// Reads the recordings of files, directories and streams, and merges them, each run once. `prepare` may change each of
/// them before, and returns whether it is merged.
pub(crate) fn read_merged<P: AsRef<Path>>(
    inputs: &[P],
    options: RecordingOptions,
    prepare: &dyn Fn(&mut Recording) -> std::result::Result<bool, Diagnostic>,
) -> Result<Merged> {
    let mut merger = Merger::default();
    let mut is_first = true;
    loop {
        let (mut origins, mut prepared, mut left_out) = (Vec::new(), Ok(()), 0);
        let mut add = |mut recording: Recording, origin: Origin| match prepare(&mut recording) {
            Ok(true) => {
                merger.add(recording);
                origins.push(origin);
            }
            Ok(false) => left_out += 1,
            Err(error) if prepared.is_ok() => {
                prepared = Err(Failure::of(&*origin.name, vec![error]));
            }
            Err(_) => {}
        };
        let skipped = read_each(inputs, options, !is_first, &mut add)?;
        prepared?;
        let read = origins.len();
        if read == 0 && left_out > 0 {
            return Err(Failure::new(format!(
                "none of {} has the labels of --only",
                counted(left_out, "recording")
            ))
            .help("callgate record merge --format text lists labels"));
        }
        if read == 0 {
            return Err(Failure::new("no recording can be read").help("see the warnings above"));
        }
        match merger.finish().map_err(|error| failed(&error, &origins))? {
            Merging::Done { merged, taken } => {
                let repeated = (read - taken) as u64;
                return Ok(Merged { recording: merged, read: read as u64, repeated, skipped });
            }
            Merging::Again(again) => merger = again,
        }
        check_readable_again(inputs)?;
        is_first = false;
    }
}

/// An error if an input can be read only once.
fn check_readable_again<P: AsRef<Path>>(inputs: &[P]) -> Result<()> {
    let mut paths = inputs.iter().map(AsRef::as_ref);
    match paths.find(|path| !path.is_file() && !path.is_dir()) {
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
