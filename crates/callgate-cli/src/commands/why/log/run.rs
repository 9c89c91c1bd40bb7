//! Reads the log and prints its denials.

use callgate::Arch;
use callgate_trace::Selection;
use callgate_trace::denials::{DenialLog, DenialReader, Evidence, LoggedCall};

use super::super::args::WhyArgs;
use super::super::patch::write_patch;
use super::alone::Failures;
use super::explained::{combine, explain};
use super::groups::{Groups, given_arch};
use super::hints::{next, next_of};
use super::text::Shown;
use super::usual::usual;
use super::{alone, json, metrics, text};
use crate::options::{Format, SourceOptions, native_arch};
use crate::output;
use crate::report::{Failure, Result};
use crate::source::{LoadedSource, Place};
use crate::text::counted;

/// A text with denials.
pub(in super::super) enum Log<'a> {
    At(Place),
    /// Lines that are an argument themselves.
    Lines(&'a str),
}

impl Log<'_> {
    /// The name in messages.
    fn name(&self) -> String {
        match self {
            Log::At(place) => place.name(),
            Log::Lines(_) => "these words".to_owned(),
        }
    }

    /// An error about the text.
    fn failure(&self, message: String) -> Failure {
        match self {
            Log::At(place) => Failure::about(place.name(), message),
            Log::Lines(_) => Failure::new(message),
        }
    }

    fn read(
        &self,
        arch: Arch,
        is_arch_given: bool,
        selection: Selection,
        relevant: impl FnMut(&LoggedCall) -> Option<u8>,
    ) -> Result<DenialLog> {
        let mut reader = DenialReader::new(arch, relevant).selecting(selection);
        if matches!(self, Log::Lines(_)) {
            reader = reader.given();
        }
        if is_arch_given {
            reader = reader.of_given_arch();
        }
        match self {
            Log::At(place) => {
                place.read_pieces(|piece| reader.push(piece))?;
            }
            // Without its end, a line is taken for a truncated one.
            Log::Lines(text) => reader.push(format!("{text}\n").as_bytes()),
        }
        Ok(reader.finish())
    }
}

/// The denials of a log, with the rules of the source that are the reason.
pub(in super::super) fn run(
    args: &WhyArgs,
    source: LoadedSource,
    log: &Log<'_>,
    options: &SourceOptions,
) -> Result<u8> {
    let name = log.name();
    let format = match args.format.metrics() {
        Ok(_) if args.patch.is_some() => {
            let help = "omit --patch, or use --format text";
            return Err(Failure::new("metrics have no patch").help(help));
        }
        format => format,
    };
    let mut groups = Groups::new(source, options);
    let arch = groups.usual_arch()?;
    let of = log;
    let log = of.read(arch, given_arch(options).is_some(), args.selection.selection(), |call| {
        groups.relevant(call)
    })?;
    groups.check()?;
    let format = match format {
        Ok(format) => {
            // There may be nothing since the last time.
            if log.lines > 0 {
                check_recognized(of, &log)?;
            }
            output::print(&metrics::log(&log, &groups, format))?;
            return end(of, &log, "callgate_log_unread_total counts them");
        }
        Err(format) => format,
    };
    check_recognized(of, &log)?;
    let explained = explain(&log, &groups);
    let combined = combine(&explained, &groups, args.with_dangerous);
    if let Some(path) = &args.patch {
        let patch = match combined.as_slice() {
            [] => None,
            [only] => Some(only.patch.as_str()),
            several => {
                let arches = several.iter().flat_map(|one| &one.arches).map(|arch| arch.name());
                let arches: Vec<&str> = arches.collect();
                return Err(Failure::about(
                    name,
                    format!(
                        "the changes are for several machines ({}), so there is no single patch",
                        arches.join(", ")
                    ),
                )
                .help("select one with --arch"));
            }
        };
        write_patch(path, patch)?;
    }
    output::print(&match format {
        Format::Json => format!(
            "{}\n",
            json::log(&name, &log, &groups, &explained, &combined, args.with_dangerous)
        ),
        Format::Text => {
            let shown = Shown { with_dangerous: args.with_dangerous, each: args.each };
            text::log(&name, arch, &log, &groups, &explained, &combined, shown)
        }
    })?;
    end(of, &log, &next_of(&log))
}

/// The denials of a log without a filter: which syscalls they are, and what they are for.
pub(in super::super) fn run_alone(
    args: &WhyArgs,
    log: &Log<'_>,
    options: &SourceOptions,
) -> Result<u8> {
    let name = log.name();
    let format = args.format.metrics().err().ok_or_else(|| {
        Failure::new("metrics need the filter")
            .help("give a SOURCE before --from, or use --format json")
    })?;
    if args.patch.is_some() {
        return Err(Failure::new("a patch needs the filter")
            .help("give a SOURCE before --from, or omit --patch"));
    }
    let arch = given_arch(options).map_or_else(native_arch, Ok)?;
    let mut outside = std::collections::BTreeMap::new();
    let mut failures = Failures::default();
    let relevant = |call: &LoggedCall| {
        if call.evidence != Evidence::Filter {
            if let Evidence::Failed(errno) = call.evidence {
                failures.add(call.syscall, errno);
            }
            return None;
        }
        let of = call.syscall.arch;
        if !(options.arch.is_empty() || options.arch.contains(&of)) {
            *outside.entry(of).or_default() += 1;
            return None;
        }
        Some(u8::MAX)
    };
    let of = log;
    let log = of.read(arch, given_arch(options).is_some(), args.selection.selection(), relevant)?;
    check_recognized(of, &log)?;
    let of_failures = usual(&failures.few(), options)?;
    let usual = usual(&log.denials, options)?;
    output::print(&match format {
        Format::Json => {
            format!("{}\n", json::log_alone(&name, &log, &outside, &failures, &usual))
        }
        Format::Text => alone::log(&name, arch, &log, &outside, &failures, &of_failures, &usual),
    })?;
    end(of, &log, &next_of(&log))
}

/// Refuses a text that is not known to be a log: it cannot tell whether anything was denied.
fn check_recognized(of: &Log<'_>, log: &DenialLog) -> Result<()> {
    if log.is_recognized || log.unread.count > 0 {
        return Ok(());
    }
    if let Some(failed) = &log.not_installed {
        let what = format!("no denial; line {}: {}: {}", failed.line, failed.why, failed.text);
        return Err(of.failure(what).help(
            "its libseccomp is older than the profile, or the profile has a rule that libseccomp refuses; update libseccomp and the \
             runtime, or remove the rule that the line names",
        ));
    }
    let what = match log.lines {
        0 => "this log is empty".to_owned(),
        lines => format!(
            "nothing was recognized in {}: no audit record, no line of the kernel's log, no syscall of strace, no report of a denial",
            match of {
                Log::At(_) => counted(lines, "line"),
                Log::Lines(_) => "the text".to_owned(),
            }
        ),
    };
    Err(of.failure(what).help(next()))
}

/// The exit status; says that there are lines which could not be read.
fn end(of: &Log<'_>, log: &DenialLog, help: &str) -> Result<u8> {
    let message = match log.unread.count {
        0 => return Ok(0),
        1 => "1 line looks like a denial, but could not be read".to_owned(),
        count => format!("{count} lines look like denials, but could not be read"),
    };
    Ok(of.failure(message).help(help).print())
}
