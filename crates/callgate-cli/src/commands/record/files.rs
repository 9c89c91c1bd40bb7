//! Reads recordings and logs, and writes one recording.

use super::args::RecordArgs;
use super::label;
use super::report_text::table;
use super::write::write;
use crate::options::Format;
use crate::output;
use crate::recordings::{self, RecordingOptions};
use crate::report::{Failure, Result};

/// `--from`: reads recordings and logs, and writes one recording.
pub(super) fn read(args: &RecordArgs) -> Result<u8> {
    let RecordArgs { arch, strict, partial, .. } = *args;
    let reading = RecordingOptions { arch, strict, partial };
    let mut named = recordings::read_all(&args.from, reading)?;
    for one in &args.label {
        named.iter_mut().for_each(|named| named.recording.label(&one.key, &one.value));
    }
    let runs = || named.iter().flat_map(|named| named.recording.runs());
    if let Some(run) = runs().find(|run| run.labels.len() > label::MOST) {
        let (count, most) = (run.labels.len(), label::MOST);
        return Err(Failure::new(format!(
            "with --label, a run has {count} labels, more than {most}, the limit"
        ))
        .help("give fewer labels"));
    }
    let all = recordings::merged(&named)?;
    match (&args.output, args.format) {
        (None, Format::Text) => output::print(&table(&all))?,
        (output, _) => write(&all, output.as_deref())?,
    }
    Ok(0)
}
