//! Generates a profile, and prints its summary.

use callgate_core::diagram::Store;
use callgate_formats::languages::LanguageId;
use callgate_trace::generate::{self, Draft, GenerateError, WrittenProfile};
use callgate_trace::recording::Recording;

use super::args::GenerateArgs;
use super::classes::Classes;
use super::dangers::Dangers;
use super::summary::{self, Summary};
use super::update;
use crate::advice;
use crate::binary::{self, Code};
use crate::options::Format;
use crate::output;
use crate::recordings::{self, RecordingOptions};
use crate::report::{self, Failure, Result};

pub(crate) fn run(args: &GenerateArgs) -> Result<u8> {
    if let Some(source) = &args.update {
        return update::run(args, source);
    }
    if args.has_unused_name() {
        report::warn(
            "--name has no effect: it names the resource of k8s",
            "add --to k8s, or omit it",
        );
    }
    let arch = args.arch.first().copied();
    let options = RecordingOptions { arch, strict: args.strict, partial: args.partial };
    let selection = args.selection.selection();
    let named = recordings::read_selected(&args.recordings, &selection, options)?;
    let recordings: Vec<Recording> = named.iter().map(|named| named.recording.clone()).collect();
    let failed = |error: GenerateError| {
        if let Some(error) = error.merge_error() {
            return recordings::merge_failed(error, &named);
        }
        let failure = match named.as_slice() {
            [one] => Failure::about(&one.name, error.to_string()),
            _ => Failure::new(error.to_string()),
        };
        failure.help(advice::help_or(error.advice(), error.help()))
    };
    let code = match args.binary.is_empty() {
        true => None,
        false => {
            let sysroot = args.sysroot.as_deref();
            let code = binary::analyze(&args.binary, &args.library, sysroot)?;
            if args.grants_code() {
                let has_recording = !args.recordings.is_empty();
                binary::check_sites(&code, args.allow_unknown_sites, has_recording)?;
            }
            binary::warn(&code);
            Some(code)
        }
    };
    let granted = code.as_ref().filter(|_| args.grants_code());
    let granted = granted.map(Code::granted).unwrap_or_default();
    let mut draft =
        generate::generate_with_code(&recordings, &granted, &args.options()).map_err(failed)?;
    let classes = code.map(|code| Classes::of(code, &draft));
    let format = args.profile_format();
    let Some(to) = format.annotated() else {
        return Err(Failure::new(format!("profiles are not generated in {format}")));
    };
    for remark in generate::remarks(&recordings, &draft, to) {
        report::warn_of(&remark);
    }
    draft.write(format).map_err(failed)?;
    let dangers = Dangers::of(&draft, format)?;
    dangers.mark(&mut draft);
    dangers.warn();
    let written = draft.write(format).map_err(failed)?;
    let is_profile = format.writer().is_some_and(|writer| writer.dialect.is_some());
    if is_profile && !to.is_read_back {
        read_back(&draft, &written, format)?;
    }
    let summary = Summary::of(&draft, &written, &named, args.assumed_systemd())?;

    let output = args.output.as_deref().filter(|path| path.as_os_str() != "-");
    match output {
        Some(path) => output::write_file(path, written.text.as_bytes())?,
        None => output::print(&written.text)?,
    }
    let text = match args.format {
        Format::Text => {
            let mut text = summary.text(&draft, format, &dangers);
            if let Some(classes) = &classes {
                classes.write(&mut text, args.explain);
            }
            if args.explain {
                summary::grants(&mut text, &draft, format);
            }
            if let Some(path) = output {
                if path.is_file() {
                    summary::usage(&mut text, path, to);
                }
                if is_profile && to.is_read_back {
                    summary::weights(&mut text, path, &named);
                }
            }
            text
        }
        Format::Json => summary.json(&draft, format, classes.as_ref(), &dangers),
    };
    match (args.format, output) {
        (Format::Json, Some(_)) => output::print(&text)?,
        _ => report::note(&text),
    }
    Ok(0)
}

/// Reads a resource, which must have the meaning of the profile. The library does this for JSON.
fn read_back(draft: &Draft, written: &WrittenProfile, format: LanguageId) -> Result<()> {
    let failed = |why: String| {
        Failure::new(format!("the written resource {why}"))
            .help("this is a bug in callgate: please report it with the recording")
    };
    let read = draft
        .read_back(format, &written.text)
        .map_err(|error| failed(format!("cannot be read: {error}")))?;
    let mut store = Store::default();
    let of =
        |store: &mut Store, policy| store.policy(policy).map_err(|error| failed(error.to_string()));
    match of(&mut store, &read)? == of(&mut store, &written.policy)? {
        true => Ok(()),
        false => Err(failed("has another meaning when it is read".to_owned())),
    }
}
