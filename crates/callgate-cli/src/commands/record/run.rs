//! Chooses what is recorded, records commands, and reports.

use callgate_record::{Note, Recorded, exit_status};

use super::args::{RecordArgs, RecordCommand};
use super::attach;
use super::command::RecordedCommand;
use super::label;
use super::merge::{merge, write};
use super::node;
use super::oci_hook;
use super::report_text::{json, table, text};
use super::saving::{Destination, Saving};
use super::split::SplitDirectory;
use super::warnings::warn_about;
use crate::options::Format;
use crate::output;
use crate::recordings::{self, NamedRecording, RecordingOptions};
use crate::report::{self, Failure, Result};

pub(crate) fn run(args: &RecordArgs) -> Result<u8> {
    if let Some(RecordCommand::Merge(args)) = &args.verb {
        return merge(args);
    }
    label::check(&args.label, args.split.is_some())?;
    if !args.from.is_empty() {
        return read(args);
    }
    args.selection.only_of_logs()?;
    if args.oci_hook {
        return oci_hook::run(args);
    }
    if let Some(directory) = &args.node {
        return node::run(args, directory);
    }
    if let Some(target) = attach::target(args)? {
        let mut saving = saving(args)?;
        let recorded = attach::record(&target, args, &mut saving)?;
        let attached_to = (!args.starting).then(|| target.to_string());
        report(args, &recorded, attached_to.as_deref(), saving)?;
        return Ok(if recorded.notes.iter().any(Note::is_failure) { 2 } else { 0 });
    }
    if args.time.is_some() {
        return Err(Failure::new("--for is only for running processes").help(
            "add --pid, --cgroup, --unit, --container or --node; timeout(1) limits the time of a command",
        ));
    }
    let command = RecordedCommand::find(&args.command, args.recorded_words())?;
    let mut saving = saving(args)?;
    let recorded = command.record(args.via, Some(&mut saving))?;
    report(args, &recorded, None, saving)?;
    let failed = recorded.notes.iter().any(Note::is_failure);
    Ok(if failed { 2 } else { exit_status(recorded.status) })
}

/// The destinations, checked before anything is recorded.
fn saving(args: &RecordArgs) -> Result<Saving> {
    let destination = Destination::prepare(args.output.as_deref())?;
    let split = args.split.as_deref().map(SplitDirectory::prepare).transpose()?;
    let words = args.recorded_words();
    Ok(Saving::to(destination, args.output.as_deref(), split, &args.label, words))
}

/// Reports a recording and what differs from a run without a recorder. Fails if it could not be written.
fn report(
    args: &RecordArgs,
    recorded: &Recorded,
    attached_to: Option<&str>,
    mut saving: Saving,
) -> Result<()> {
    let saved = saving.end();
    warn_about(recorded, attached_to.is_some(), None);
    let text = match args.format {
        Format::Json => json(recorded, attached_to, saving.split()),
        Format::Text => {
            text(recorded, attached_to, args.output.as_deref(), saved.is_ok(), saving.split())
        }
    };
    report::note(&text);
    saved
}

/// `--from`: reads recordings and logs, and writes one recording.
pub(super) fn read(args: &RecordArgs) -> Result<u8> {
    let RecordArgs { arch, strict, partial, .. } = *args;
    let reading = RecordingOptions { arch, strict, partial };
    let selection = args.selection.selection();
    let mut named = recordings::read_selected(&args.from, &selection, reading)?;
    for NamedRecording { name, recording, .. } in &mut named {
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
