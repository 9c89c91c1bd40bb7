//! Reads the profile and the recordings, and prints what was added.

use std::ffi::OsStr;

use super::super::args::GenerateArgs;
use super::search::updated;
use super::text;
use crate::commands::check::warn_about;
use crate::commands::why::Read;
use crate::options::Format;
use crate::output;
use crate::recordings::{self, RecordingOptions};
use crate::report::{self, Failure, Result};
use crate::source::Source;
use callgate_bpf::syscalls;

pub(in super::super) fn run(args: &GenerateArgs, source: &OsStr) -> Result<u8> {
    if args.names_namespaces() {
        let message = "--update does not add namespaces by name: it adds what was recorded";
        return Err(Failure::new(message).help(
            "omit --namespaces; 'callgate why PROFILE clone CLONE_NEWUSER' shows how to allow a namespace by hand, and \
             --namespaces any allows a recorded clone3",
        ));
    }
    let reading = RecordingOptions {
        arch: args.arch.first().copied(),
        strict: args.strict,
        partial: args.partial,
    };
    let named = recordings::read_selected(&args.recordings, &args.selection.selection(), reading)?;
    let options = args.reading().with_statements();
    let read = Read::new(Source::parse(source)?.load()?, &options)?;
    let mut recording = recordings::merged(&named)?;
    warn_about(&named, &recording, &read.stack);
    let arches = read.stack.arches();
    recording.retain(|syscall| arches.contains(&syscall.arch));
    if recording.is_empty() {
        let names: Vec<&str> = arches.iter().map(|arch| arch.name()).collect();
        let message = format!("nothing was recorded for {}", names.join(", "));
        return Err(Failure::about(&read.stack.name, message)
            .help("use --arch to read the profile for the recorded architecture"));
    }
    let update = updated(&recording, read, args.options(), &options)?;
    for (arch, name, arg) in &update.unlimited {
        let argument = syscalls::facts(name)
            .and_then(|facts| facts.args.get(usize::from(*arg)))
            .map_or_else(|| format!("argument {arg}"), |one| (*one.name).to_owned());
        report::warn_about(
            &update.name,
            format!("{name} on {arch} is not limited to the recorded values of {argument}"),
            "they have too many combinations; edit the patch to limit it",
        );
    }

    for syscall in &update.deadly {
        report::warn_about(
            &update.name,
            format!(
                "{} on {} was recorded, and does not fail with ENOSYS: libraries do not use clone instead",
                syscall.name().unwrap_or_default(),
                syscall.arch
            ),
            "no filter sees its flags, so it is not allowed: make it fail with ENOSYS (errnoRet 38) by hand, or allow \
             all namespaces with --namespaces any",
        );
    }

    update.dangers.warn();

    let output = args.output.as_deref().filter(|path| path.as_os_str() != "-");
    match (output, &update.text) {
        (Some(path), Some(text)) => output::write_file(path, text.as_bytes())?,
        (Some(_), None) => {
            return Err(Failure::about(&update.name, "the source has more than one text")
                .help("omit -o, and apply the patch that is printed"));
        }
        (None, _) if args.format == Format::Text => output::print(&update.patch)?,
        (None, _) => {}
    }
    match args.format {
        Format::Text => report::note(&text::text(&update, &recording)),
        Format::Json => output::print(&text::json(&update, &recording))?,
    }
    Ok(0)
}
