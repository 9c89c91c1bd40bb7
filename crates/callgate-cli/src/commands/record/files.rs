//! Reads recordings and logs, and writes one recording.

use std::path::Path;

use callgate::recording::Recording;

use super::args::{MergeArgs, RecordArgs};
use super::report_text::table;
use crate::options::Format;
use crate::output;
use crate::recordings::{self, RecordingOptions};
use crate::report::Result;

/// `--from`: reads recordings and logs, and writes one recording.
pub(super) fn read(args: &RecordArgs) -> Result<u8> {
    let RecordArgs { arch, strict, partial, .. } = *args;
    let reading = RecordingOptions { arch, strict, partial };
    let all = recordings::merged(&recordings::read_all(&args.from, reading)?);
    match (&args.output, args.format) {
        (None, Format::Text) => output::print(&table(&all))?,
        (output, _) => write(&all, output.as_deref())?,
    }
    Ok(0)
}

/// `callgate record merge`.
pub(super) fn merge(args: &MergeArgs) -> Result<u8> {
    let MergeArgs { arch, strict, partial, .. } = *args;
    let reading = RecordingOptions { arch, strict, partial };
    let all = recordings::merged(&recordings::read_all(&args.files, reading)?);
    write(&all, args.output.as_deref())?;
    Ok(0)
}

/// Writes a recording to a file or to standard output.
fn write(recording: &Recording, path: Option<&Path>) -> Result<()> {
    match path.filter(|path| path.as_os_str() != "-") {
        Some(path) => output::write_recording(path, recording.to_json().as_bytes()),
        None => output::print(&recording.to_json()),
    }
}
