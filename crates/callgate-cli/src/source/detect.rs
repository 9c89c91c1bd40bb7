//! Detects the format of a source without `FORMAT:`.

use std::ffi::OsStr;

use callgate_requests::source::{ProgramForm, SourceFormat, of_no_format};

use super::place::Place;
use crate::report::{Failure, Result};

/// Detects the format from the file name and the content.
pub(super) fn detect(place: &Place, bytes: &[u8]) -> SourceFormat {
    let extension = match place {
        Place::File(path) => path.extension().and_then(OsStr::to_str),
        Place::Stdin => None,
    };
    SourceFormat::detect(extension, bytes)
}

/// Fails for an empty input, whose format cannot be detected.
pub(super) fn check_not_empty(place: &Place, bytes: &[u8]) -> Result<()> {
    if !bytes.is_empty() {
        return Ok(());
    }
    Err(Failure::about(place.name(), "the input is empty; expected a profile or a BPF program")
        .help(match place {
            Place::Stdin => "check the command before the pipe, or redirect a file: < FILE",
            Place::File(_) => "check whether the command that wrote the file failed",
        }))
}

/// Explains that a text which fails in its first line was read as a program.
pub(super) fn explain_detected(failure: Failure, format: SourceFormat, bytes: &[u8]) -> Failure {
    if format != SourceFormat::Program(ProgramForm::Text) {
        return failure;
    }
    let advice = "write FORMAT: before its name (see `callgate --help`)";
    failure.map(|errors| of_no_format(errors, bytes, advice))
}
