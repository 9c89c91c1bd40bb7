//! Writes recordings that were read or merged.

use std::path::Path;

use callgate_trace::recording::Recording;

use crate::output;
use crate::report::Result;

/// Writes a recording to a file or to standard output.
pub(super) fn write(recording: &Recording, path: Option<&Path>) -> Result<()> {
    match path.filter(|path| path.as_os_str() != "-") {
        Some(path) => output::write_recording(path, recording.to_json().as_bytes()),
        None => output::print(&recording.to_json()),
    }
}
