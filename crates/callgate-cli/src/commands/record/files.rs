//! Reads recordings and logs, and writes one recording.

use super::args::RecordArgs;
use super::label;
use super::report_text::table;
use super::write::write;
use crate::options::Format;
use crate::output;
use crate::recordings::{self, NamedRecording, RecordingOptions};
use crate::report::{Failure, Result};

/// `--from`: reads recordings and logs, and writes one recording.
pub(super) fn read(args: &RecordArgs) -> Result<u8> {
    let RecordArgs { arch, strict, partial, .. } = *args;
    let reading = RecordingOptions { arch, strict, partial };
    let mut named = recordings::read_all(&args.from, reading)?;
    for NamedRecording { name, recording } in &mut named {
        let added = label::add(recording, &args.label);
        added.map_err(|error| Failure::of(&*name, vec![error]))?;
    }
    let all = recordings::merged(&named)?;
    match (&args.output, args.format) {
        (None, Format::Text) => output::print(&table(&all))?,
        (output, _) => write(&all, output.as_deref())?,
    }
    Ok(0)
}
