//! Reads recordings from files in any format.

use std::ffi::OsStr;
use std::fs::File;
use std::hash::{BuildHasher, RandomState};
use std::io::Read;
use std::path::Path;

use callgate::Arch;
use callgate_bpf::diagnostic::Diagnostics;
use callgate_trace::read::{ReadOptions, ReadRecording, RecordingReader};
use callgate_trace::recording::{MergeError, Merger, Recording, RunId};
use callgate_trace::{LogPrograms, Selection};

use crate::options::native_arch;
use crate::report::{self, Failure, Result};
use crate::source::Place;
use crate::text::{argument, printable};

/// A recording and the name of its file.
pub(crate) struct NamedRecording {
    pub(crate) name: String,
    pub(crate) recording: Recording,
    /// The programs of an audit log.
    pub(crate) programs: LogPrograms,
}

impl NamedRecording {
    /// The file as an argument for a shell command; `None` for standard input.
    pub(crate) fn argument(&self) -> Option<String> {
        (self.name != Place::Stdin.name()).then(|| argument(&self.name))
    }
}

/// How recordings are read.
#[derive(Clone, Copy)]
pub(crate) struct RecordingOptions {
    /// The architecture of logs that do not name one; `None`: that of this machine.
    pub(crate) arch: Option<Arch>,
    /// Whether unknown names are errors.
    pub(crate) strict: bool,
    /// Whether the complete entries of a truncated recording are read.
    pub(crate) partial: bool,
}

impl RecordingOptions {
    pub(super) fn resolve(self) -> Result<ReadOptions> {
        let RecordingOptions { arch, strict, partial } = self;
        Ok(ReadOptions { arch: arch.map_or_else(native_arch, Ok)?, strict, partial })
    }
}

/// Reads recordings, and prints warnings about them.
pub(crate) fn read_all<P: AsRef<Path>>(
    files: &[P],
    options: RecordingOptions,
) -> Result<Vec<NamedRecording>> {
    let options = options.resolve()?;
    files.iter().map(|file| read(file.as_ref(), &Selection::default(), &options)).collect()
}

/// Like [`read_all`], of audit logs only these records. Warns about logs of several programs, if none is selected.
pub(crate) fn read_selected<P: AsRef<Path>>(
    files: &[P],
    selection: &Selection,
    options: RecordingOptions,
) -> Result<Vec<NamedRecording>> {
    let options = options.resolve()?;
    let each = files.iter().map(|file| read(file.as_ref(), selection, &options));
    let all: Vec<NamedRecording> = each.collect::<Result<_>>()?;
    let is_mixed = |one: &&NamedRecording| one.programs.read.len() > 1 && selection.is_empty();
    for NamedRecording { name, programs, .. } in all.iter().filter(is_mixed) {
        let programs = programs_in_words(&programs.read);
        report::warn_about(
            name,
            format!("the log has records of several programs: {programs}"),
            "--program NAME takes only those of one program",
        );
    }
    Ok(all)
}

fn read(file: &Path, selection: &Selection, options: &ReadOptions) -> Result<NamedRecording> {
    let place = Place::of_path(file);
    let name = place.name();
    let failed = |errors: Diagnostics| Failure::of(&name, errors);
    let mut reader = RecordingReader::new(options);
    if !selection.is_empty() {
        reader = reader.selecting(selection.clone());
    }
    place.read_log(|part| reader.add(part).map_err(failed))?;
    let read = reader.finish().map_err(failed)?;
    report::warn_all(&name, &read.warnings);
    let ReadRecording { recording, programs, .. } = read;
    Ok(NamedRecording { name, recording, programs })
}

/// Programs with the numbers of their records: `nginx (5), cron (2) and 3 more`.
pub(crate) fn programs_in_words(programs: &[(String, u64)]) -> String {
    /// The most programs that are named.
    const MOST: usize = 6;
    let named = programs.iter().take(MOST);
    let named: Vec<String> =
        named.map(|(name, count)| format!("{} ({count})", printable(name))).collect();
    match programs.len().checked_sub(MOST) {
        Some(more @ 1..) => format!("{} and {more} more", named.join(", ")),
        _ => named.join(", "),
    }
}

/// How much of a file is read to recognize a recording: as much as a filter may have, so that a log of 1 GiB is not read
/// a second time.
const MAX_RECOGNIZED: usize = 16 << 20;

/// Whether a file is a recording in any format, judged by the complete lines in its first [`MAX_RECOGNIZED`] bytes.
pub(crate) fn is_recording(file: &OsStr, arch: Option<Arch>) -> Result<bool> {
    let options = RecordingOptions { arch, strict: false, partial: true }.resolve()?;
    // Reading a pipe would consume it. Errors are reported when the file is read as a filter.
    if !std::fs::metadata(file).is_ok_and(|metadata| metadata.is_file()) {
        return Ok(false);
    }
    let mut start = Vec::new();
    let read = File::open(file)
        .and_then(|file| file.take(MAX_RECOGNIZED as u64 + 1).read_to_end(&mut start));
    if start.len() > MAX_RECOGNIZED {
        let end = start.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        start.truncate(end);
    }
    let mut reader = RecordingReader::new(&options);
    Ok(read.is_ok() && reader.push(&start).is_ok() && reader.finish().is_ok())
}

/// Merges all recordings, each run once.
pub(crate) fn merged(all: &[NamedRecording]) -> Result<Recording> {
    let recordings: Vec<Recording> = all.iter().map(|one| one.recording.clone()).collect();
    Merger::all(&recordings).map_err(|error| merge_failed(&error, all))
}

/// A failure that names the recordings that the error is about.
pub(crate) fn merge_failed(error: &MergeError, all: &[NamedRecording]) -> Failure {
    let names = error.recordings().map(|both| both.map(|at| all.get(at).map(|one| &one.name)));
    match names {
        Some([Some(one), Some(other)]) => {
            let other = printable(other);
            Failure::about(one, format!("{error}: this one and {other}")).help(error.help())
        }
        _ => Failure::new(error.to_string()).help(error.help()),
    }
}

/// Assigns a random number to the runs of a complete recording, so that merging recognizes it.
pub(crate) fn identify(recording: &mut Recording) {
    for run in recording.runs_mut() {
        // The standard library seeds it with random numbers of the system.
        run.id = Some(RunId::Assigned(RandomState::new().hash_one(std::process::id())));
    }
}
