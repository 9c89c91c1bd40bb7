//! Recordings: what programs called, from files in every form.

use std::ffi::OsStr;
use std::io::Read;
use std::path::Path;

use callgate::Arch;
use callgate::frontend::recording::{self, Options};
use callgate::recording::Recording;

use crate::options::native_arch;
use crate::report::{self, Failure, Result};
use crate::source::Place;

/// A recording and the name of its file.
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) recording: Recording,
}

/// Reads recordings. Calls of logs that do not say it are those of `arch`, or of this machine. Warnings
/// are printed.
pub(crate) fn read_all<P: AsRef<Path>>(
    files: &[P],
    arch: Option<Arch>,
    strict: bool,
) -> Result<Vec<Named>> {
    let arch = arch.map_or_else(native_arch, Ok)?;
    files.iter().map(|file| read(file.as_ref(), &Options { arch, strict })).collect()
}

fn read(file: &Path, options: &Options) -> Result<Named> {
    let place = Place::of_path(file);
    let text = place.read_log("give a recording, or a log or table of strace, perf or audit")?;
    let name = place.name();
    let read = recording::read(&text, options).map_err(|errors| Failure::of(&name, errors))?;
    report::warn_all(&name, &read.warnings);
    Ok(Named { name, recording: read.recording })
}

/// Whether a file is one of the recordings that Callgate writes.
pub(crate) fn is_recording(file: &OsStr) -> bool {
    let mut start = [0; 64];
    // What cannot be read is none; reading it for what it should be says why.
    let read = std::fs::File::open(file).and_then(|mut file| file.read(&mut start));
    let start = start.get(..read.unwrap_or(0)).unwrap_or_default();
    let text: String = String::from_utf8_lossy(start).split_whitespace().collect();
    text.starts_with("{\"callgate\":\"recording\"")
}

/// All of them together.
pub(crate) fn merged(all: &[Named]) -> Recording {
    let mut merged = Recording::default();
    all.iter().for_each(|one| merged.merge(one.recording.clone()));
    merged
}
