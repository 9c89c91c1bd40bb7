//! Recordings: what programs called, from files in every form.

use std::ffi::OsStr;
use std::path::Path;

use callgate::Arch;
use callgate::read::{Options, Reader};
use callgate::recording::Recording;

use crate::options::native_arch;
use crate::report::{self, Failure, Result};
use crate::source::Place;
use crate::text::argument;

/// A recording and the name of its file.
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) recording: Recording,
}

impl Named {
    /// The file as an argument of a command to be copied; `None` for standard input.
    pub(crate) fn argument(&self) -> Option<String> {
        (self.name != Place::Stdin.name()).then(|| argument(&self.name))
    }
}

/// How recordings are read.
#[derive(Clone, Copy)]
pub(crate) struct Reading {
    /// Whose calls are in logs that do not say it, if not this machine's.
    pub(crate) arch: Option<Arch>,
    /// Unknown names are errors.
    pub(crate) strict: bool,
    /// What is whole of a recording that is cut off is read.
    pub(crate) partial: bool,
}

impl Reading {
    fn options(self) -> Result<Options> {
        let Reading { arch, strict, partial } = self;
        Ok(Options { arch: arch.map_or_else(native_arch, Ok)?, strict, partial })
    }
}

/// Reads recordings. Warnings are printed.
pub(crate) fn read_all<P: AsRef<Path>>(files: &[P], reading: Reading) -> Result<Vec<Named>> {
    let options = reading.options()?;
    files.iter().map(|file| read(file.as_ref(), &options)).collect()
}

fn read(file: &Path, options: &Options) -> Result<Named> {
    let place = Place::of_path(file);
    let name = place.name();
    let failed = |errors| Failure::of(&name, errors);
    let mut reader = Reader::new(options);
    place.read_log(|piece| reader.push(piece).map_err(failed))?;
    let read = reader.finish().map_err(failed)?;
    report::warn_all(&name, &read.warnings);
    Ok(Named { name, recording: read.recording })
}

/// Whether a file is a recording in any form.
pub(crate) fn is_recording(file: &OsStr, arch: Option<Arch>) -> Result<bool> {
    let options = Reading { arch, strict: false, partial: true }.options()?;
    // What cannot be read is none; reading it for what it should be says why. A pipe is not read twice.
    if !std::fs::metadata(file).is_ok_and(|metadata| metadata.is_file()) {
        return Ok(false);
    }
    let mut reader = Reader::new(&options);
    let unreadable = |_| Failure::new("not a recording");
    let read =
        Place::of_path(Path::new(file)).read_log(|piece| reader.push(piece).map_err(unreadable));
    Ok(read.is_ok() && reader.finish().is_ok())
}

/// All of them together.
pub(crate) fn merged(all: &[Named]) -> Recording {
    let mut merged = Recording::default();
    all.iter().for_each(|one| merged.merge(one.recording.clone()));
    merged
}
