//! Generates a profile, and prints its summary.

use callgate::generate::{self, GenerateError, ProfileFormat};
use callgate::recording::Recording;

use super::args::GenerateArgs;
use super::summary::{self, Summary};
use super::update;
use crate::options::Format;
use crate::output;
use crate::recordings::{self, RecordingOptions};
use crate::report::{self, Failure, Result};

pub(crate) fn run(args: &GenerateArgs) -> Result<u8> {
    if let Some(source) = &args.update {
        return update::run(args, source);
    }
    let arch = args.arch.first().copied();
    let options = RecordingOptions { arch, strict: args.strict, partial: args.partial };
    let named = recordings::read_all(&args.recordings, options)?;
    let recordings: Vec<Recording> = named.iter().map(|named| named.recording.clone()).collect();
    let failed = |error: GenerateError| {
        if let Some(error) = error.merge_error() {
            return recordings::merge_failed(error, &named);
        }
        let failure = match named.as_slice() {
            [one] => Failure::about(&one.name, error.to_string()),
            _ => Failure::new(error.to_string()),
        };
        failure.help(error.help())
    };
    let draft = generate::generate(&recordings, &args.options()).map_err(failed)?;
    let format = args.profile_format();
    for remark in generate::remarks(&recordings, &draft, format) {
        report::warn(remark.message, remark.help);
    }
    let written = draft.write(format).map_err(failed)?;
    let summary = Summary::of(&draft, &written)?;

    let output = args.output.as_deref().filter(|path| path.as_os_str() != "-");
    match output {
        Some(path) => output::write_file(path, written.text.as_bytes())?,
        None => output::print(&written.text)?,
    }
    let text = match args.format {
        Format::Text => {
            let mut text = summary.text(&draft, format);
            if args.explain {
                summary::grants(&mut text, &draft, format);
            }
            if let Some(path) = output.filter(|_| format == ProfileFormat::Oci) {
                summary::weights(&mut text, path, &named);
            }
            text
        }
        Format::Json => summary.json(&draft, format),
    };
    match (args.format, output) {
        (Format::Json, Some(_)) => output::print(&text)?,
        _ => report::note(&text),
    }
    Ok(0)
}
