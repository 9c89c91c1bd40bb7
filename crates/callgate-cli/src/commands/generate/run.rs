//! Generates a profile, and prints its summary.

use callgate::generate::{self, GenerateError, ProfileFormat};
use callgate::recording::Recording;

use super::args::GenerateArgs;
use super::classes::Classes;
use super::summary::{self, Summary};
use super::update;
use crate::binary::{self, Code};
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
        let failure = match named.as_slice() {
            [one] => Failure::about(&one.name, error.to_string()),
            _ => Failure::new(error.to_string()),
        };
        failure.help(error.help())
    };
    let code = match args.binary.is_empty() {
        true => None,
        false => {
            let sysroot = args.sysroot.as_deref();
            let code = binary::analyze(&args.binary, &args.library, sysroot)?;
            binary::warn(&code);
            Some(code)
        }
    };
    let granted = code.as_ref().filter(|_| args.grants_code());
    let granted = granted.map(Code::granted).unwrap_or_default();
    let draft =
        generate::generate_with_code(&recordings, &granted, &args.options()).map_err(failed)?;
    let classes = code.map(|code| Classes::of(code, &draft));
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
            if let Some(classes) = &classes {
                classes.write(&mut text, args.explain);
            }
            if args.explain {
                summary::grants(&mut text, &draft, format);
            }
            if let Some(path) = output.filter(|_| format == ProfileFormat::Oci) {
                summary::weights(&mut text, path, &named);
            }
            text
        }
        Format::Json => summary.json(&draft, format, classes.as_ref()),
    };
    match (args.format, output) {
        (Format::Json, Some(_)) => output::print(&text)?,
        _ => report::note(&text),
    }
    Ok(0)
}
