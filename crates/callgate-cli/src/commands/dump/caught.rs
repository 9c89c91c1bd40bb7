//! `callgate dump -- CMD`: the filters that a command and its children install.

use std::ffi::OsString;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use callgate_linux::{Command, kernel_insns};
use callgate_record::{Caught, CaughtFilter, catch, ended_by, exit_status};

use super::args::{DumpArgs, USUAL_TIME};
use super::shown::{HEADING, ShownProgram, heading, number_of_filters, write};
use crate::emit::Emit;
use crate::options::{Format, NATIVE_ENDIAN};
use crate::output::{self, text_of};
use crate::report::{self, Failure, Result};
use crate::text::{counted, printable};
use callgate_requests::json::Json;
use callgate_requests::source::arches_in;

pub(super) fn run(args: &DumpArgs, words: &[OsString]) -> Result<u8> {
    let command = Command::find(words)
        .map_err(|error| Failure::new(error.to_string()).status(error.exit_status()))?;
    let limit = args.time.unwrap_or(USUAL_TIME);
    let caught = catch(&command, (!args.to_the_end).then_some(limit)).map_err(|error| {
        Failure::new(error.to_string()).help(error.help()).status(error.exit_status())
    })?;
    for note in &caught.notes {
        report::warn(note.to_string(), "run callgate as root");
    }
    let shown: Vec<ShownProgram> = caught.filters.iter().enumerate().map(of).collect();
    let emit = args.emit.unwrap_or(Emit::Bpf);
    let output = args.output.as_deref();
    let written = output.map_or(Ok(None), |output| write(output, emit, &shown));
    let text = match args.format {
        Format::Json => json(&caught, &shown),
        Format::Text => {
            let first = written.as_ref().ok().and_then(Option::as_deref);
            text(&caught, &shown, args, first, &printable(&words_of(words)).to_string())
        }
    };
    match &args.report {
        Some(file) => output::write_file(file, text_of(&text).as_bytes())?,
        None => report::note(&text),
    }
    // The command ran, so its filters are shown also if they cannot be written.
    written.map(|_| 0)
}

fn words_of(words: &[OsString]) -> String {
    words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default()
}

fn of((index, caught): (usize, &CaughtFilter)) -> ShownProgram {
    let program = caught.program.clone();
    let arches = arches_in(&program, NATIVE_ENDIAN);
    ShownProgram { index: Some(index), program, arches, flags: Some(caught.flags) }
}

/// `written`: the file of the first program.
fn text(
    caught: &Caught,
    shown: &[ShownProgram],
    args: &DumpArgs,
    written: Option<&Path>,
    name: &str,
) -> String {
    let count = number_of_filters(caught.filters.len());
    let mut text = format!("{HEADING}{name}{HEADING:#} installed {count}\n");
    if !caught.filters.is_empty() {
        let _ = writeln!(text, "  filter  instructions   as eBPF  process");
    }
    for (index, filter) in caught.filters.iter().enumerate() {
        let (insns, kernel) = (filter.program.len(), kernel_insns(&filter.program));
        let process = format!("{} ({})", filter.process, printable(&filter.name));
        let remarks: String = remarks(filter).iter().map(|remark| format!(", {remark}")).collect();
        let _ = writeln!(text, "  {index:<6}{insns:>14}{kernel:>10}  {process}{remarks}");
    }
    let mut line = |sentence: String| {
        let _ = writeln!(text, "{sentence}");
    };
    if caught.more > 0 {
        line(format!("{} were not kept", number_of_filters(caught.more)));
    }
    if caught.unread > 0 {
        let them = number_of_filters(caught.unread);
        line(format!("{them} could not be read"));
    }
    if caught.asks_for_strict {
        let filter =
            "the command asked for the strict mode, which it gets only without callgate's filter";
        line(filter.to_owned());
    }
    if caught.was_ended {
        line(format!(
            "the command was ended after {}; --for waits longer, --continue until it ends",
            seconds(args.time.unwrap_or(USUAL_TIME))
        ));
    } else if let Some(signal) = ended_by(caught.status) {
        line(format!("the command was ended by signal {signal}"));
    } else if exit_status(caught.status) != 0 {
        line(format!("the exit status of the command is {}", exit_status(caught.status)));
    }
    match (written, shown.first()) {
        (Some(file), _) => line(format!("next: callgate explain {}", file.display())),
        (None, Some(_)) if args.output.is_none() => {
            let them = if shown.len() == 1 { "it to a file" } else { "them to files" };
            line(format!("-o FILE writes {them}"));
        }
        _ => {}
    }
    if let Some(dialect) = args.dialect {
        for shown in shown {
            let _ = writeln!(text, "\n{HEADING}{}{HEADING:#}", heading(shown));
            text.push_str(&shown.text(dialect.into()));
        }
    }
    text
}

fn remarks(filter: &CaughtFilter) -> Vec<String> {
    let flags = Some(filter.flags.to_string()).filter(|flags| !flags.is_empty());
    let listener = filter.has_listener.then(|| "with a listener".to_owned());
    let abi = (Some(filter.arch) != callgate::Arch::native()).then(|| filter.arch.to_string());
    [abi, flags, listener].into_iter().flatten().collect()
}

fn seconds(time: Duration) -> String {
    match time.subsec_millis() {
        0 => counted(time.as_secs(), "second"),
        _ => format!("{:.1} seconds", time.as_secs_f64()),
    }
}

fn json(caught: &Caught, shown: &[ShownProgram]) -> String {
    let filter = |(index, filter): (usize, &CaughtFilter)| {
        let program = shown.iter().find(|shown| shown.index == Some(index));
        Json::Object(vec![
            ("pid", filter.process.into()),
            ("name", filter.name.as_str().into()),
            ("arch", filter.arch.name().into()),
            ("listener", filter.has_listener.into()),
            ("filter", program.map(ShownProgram::json).into()),
        ])
    };
    let value = Json::Object(vec![
        ("filters", Json::array(caught.filters.iter().enumerate().map(filter))),
        ("more", caught.more.into()),
        ("unread", caught.unread.into()),
        ("asks_for_strict", caught.asks_for_strict.into()),
        ("status", exit_status(caught.status).into()),
        ("ended", caught.was_ended.into()),
    ]);
    format!("{value}\n")
}
