//! `callgate check`: lists the recorded syscalls that a filter would deny, or what changed since other recordings.

mod baseline;
mod changed;
mod metrics;

use std::ffi::{OsStr, OsString};
use std::fmt::Write;
use std::path::Path;

use callgate::Arch;
use callgate_bpf::syscalls;
use callgate_core::diagram::Store;
use callgate_trace::check::{Certainty, Finding, Unrecorded, check};
use callgate_trace::recording::{Effect, Recording, SyscallId};
use clap::ValueHint;

use crate::options::{DenialFormat, Format, SourceOptions};
use crate::outcome::colored;
use crate::output::{self, wrap};
use crate::recordings::{self, NamedRecording, RecordingOptions};
use crate::report::{self, Failure, Result};
use crate::selection::SelectionOptions;
use crate::source::{BUILT_IN, Combine, Source, SourceStack, is_built_in};
use crate::text::{counted, grouped, printable};
use callgate_requests::explanation::verdict_json;
use callgate_requests::json::Json;
use callgate_requests::syscall;

/// List the recorded syscalls that a filter would deny
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The SOURCE is the last argument, or the first one, or follows -s. The counts of
several recordings add up. A RECORDING is a file of callgate record, a log of
strace, a table of strace -c or perf trace -s, or SECCOMP records from the audit
log, dmesg or journalctl.

A recording keeps the values of each argument separately. \"all\" means that every
recorded call is denied; \"with\" lists values that are denied for any values of
the other arguments. \"perhaps\" means that only a combination of recorded values
is denied, which may never have occurred, or that the decision depends on
something that is not recorded, which the line names: logs do not have all
values, and registers that are not arguments of a syscall are not recorded.

A recorded clone3 that fails with ENOSYS is not a denial if the filter allows
clone: glibc, musl and Go use clone then. It is listed, and does not count.

--format prometheus and otlp print counters of denied calls for monitoring, by
syscall, action and certainty, and of calls that fall back: at most 500 series
each, and one for all others.

With --baseline, all RECORDINGs are of a new version, and there is no filter.
The result lists what is new and what disappeared, in how many runs of each
version, and whether that is significant: the percentage is the probability of
such a difference if both versions behave alike (Fisher's exact test); of the
differences called significant, at most 5 % are expected to be chance. Both
sides may be files, directories and streams with one recording per line
(NDJSON).

Examples:
  callgate check T.json profile.json
  callgate check T.json                      check container-default
  callgate check -s filter.bpf T1.json T2.json --format json
  callgate check --baseline app-7.json app-8.json
  callgate check --baseline mon.json --baseline tue.json new/ --format json

Exit status: 0 nothing is denied, 1 something is or may be denied, 2 error; with
--baseline: 0 nothing is new, 1 something is new, 2 error.")]
pub(crate) struct CheckArgs {
    /// Recordings, followed by the filter, a SOURCE, unless -s or --baseline is given
    #[arg(required = true, value_name = "RECORDING", value_hint = ValueHint::FilePath)]
    files: Vec<OsString>,

    /// The filter, a SOURCE (see `callgate --help`)
    #[arg(short, long, value_hint = ValueHint::FilePath)]
    source: Option<OsString>,

    /// List what changed since this recording of an old version; may be repeated
    #[arg(
        long,
        value_name = "RECORDING",
        value_hint = ValueHint::AnyPath,
        conflicts_with_all = [
            "source", "kernel", "caps", "enosys_above", "base", "set", "systemd", "endian",
            "minijail_semantics", "include_root",
        ]
    )]
    baseline: Vec<OsString>,

    /// Read the complete entries of a truncated recording; later syscalls are missing
    #[arg(long)]
    partial: bool,

    #[command(flatten)]
    selection: SelectionOptions,

    /// The format of the report
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: DenialFormat,

    #[command(flatten)]
    reading: SourceOptions,
}

/// How many values of an argument are listed.
const MAX_LISTED: usize = 8;

/// Whether a word is a file, or a source that is not a file: a combination has blanks.
fn may_be_source(word: &OsStr) -> bool {
    is_built_in(word)
        || word.as_encoded_bytes().iter().any(|byte| b": ".contains(byte))
        || Path::new(word).is_file()
}

pub(crate) fn run(args: &CheckArgs) -> Result<u8> {
    let arch = args.reading.arch.first().copied();
    let options = RecordingOptions { arch, strict: args.reading.strict, partial: args.partial };
    if !args.baseline.is_empty() {
        let format = args.format.metrics().err().ok_or_else(|| {
            Failure::new("changes cannot be metrics, which count denials")
                .help("use --format text or json, or omit --baseline")
        })?;
        return baseline::run(&args.baseline, &args.files, options, format);
    }
    let (files, source) = match (&args.source, args.files.as_slice()) {
        (Some(source), files) => (files, source.clone()),
        (None, [source, files @ .., last])
            if may_be_source(source)
                && recordings::is_recording(last, arch)?
                && !recordings::is_recording(source, arch)? =>
        {
            (args.files.get(1..).unwrap_or(files), source.clone())
        }
        (None, [files @ .., source]) if !files.is_empty() => (files, source.clone()),
        (None, files) => (files, OsString::from(BUILT_IN)),
    };
    if args.source.is_none() && recordings::is_recording(&source, arch)? {
        let message = format!("missing filter: the last file is a recording: {}", source.display());
        return Err(
            Failure::new(message).help("give the filter as the last argument, or with -s SOURCE")
        );
    }
    let named = recordings::read_selected(files, &args.selection.selection(), options)?;
    let filter = Source::parse(&source)?.read(&args.reading)?;
    let recording = recordings::merged(&named)?;
    warn_about(&named, &recording, &filter);

    let mut store = Store::default();
    let root = filter.diagram(&mut store)?;
    let findings = check(&mut store, root, &recording)
        .map_err(|error| Failure::about(&filter.name, error.to_string()))?;
    let denied = findings.iter().any(Finding::is_denied);
    let text = match args.format.metrics() {
        Ok(format) => metrics::text(&recording, &filter.name, &findings, format),
        Err(Format::Text) => table(&recording, &filter.name, &findings),
        Err(Format::Json) => json(&recording, &filter.name, &findings),
    };
    output::print(&text)?;
    Ok(u8::from(denied))
}

/// Warns about caveats, and about architectures that the filter is not for.
pub(crate) fn warn_about(named: &[NamedRecording], recording: &Recording, filter: &SourceStack) {
    for NamedRecording { name, recording, .. } in named {
        for caveat in recording.caveats() {
            let help = match caveat.effect {
                Effect::Incomplete => "the filter may deny missing syscalls; record again",
                Effect::Excerpt => {
                    "the filter may deny them; also check a recording from start to end"
                }
                Effect::Altered => "without the recorder, the program may make other syscalls",
                Effect::Excess => {
                    "this filter may deny the syscalls that were denied during recording"
                }
            };
            report::warn_about(name, caveat.text, help);
        }
    }
    warn_about_arches(recording, filter);
}

/// Warns about architectures that the filter is not for.
pub(crate) fn warn_about_arches(recording: &Recording, filter: &SourceStack) {
    let arches = filter.arches();
    let mut others: Vec<Arch> = recording.syscalls().map(|(call, _)| call.arch).collect();
    others.retain(|arch| !arches.contains(arch));
    others.dedup();
    for arch in others {
        let own: Vec<&str> = arches.iter().map(|arch| arch.name()).collect();
        report::warn_about(
            &filter.name,
            format!("syscalls of {arch} were recorded, but the filter is for {}", own.join(", ")),
            format!("use --arch {arch} to read a profile for that architecture"),
        );
    }
}

pub(crate) fn table(recording: &Recording, filter: &str, findings: &[Finding]) -> String {
    let filter = printable(filter);
    let (different, calls) = (recording.syscalls().len() as u64, recording.total());
    let all = format!("{}, {}", counted(different, "syscall"), counted(calls, "call"));
    if findings.is_empty() {
        return format!("{filter} allows all recorded syscalls ({all})\n");
    }
    let denied = || findings.iter().filter(|finding| finding.is_denied());
    let mut text = match denied().count() {
        0 => format!("{filter} denies no recorded syscall ({all})\n"),
        some => format!(
            "{filter} denies {some} of {} ({} of {})\n",
            counted(different, "recorded syscall"),
            grouped(denied().fold(0, |sum: u64, finding| sum.saturating_add(finding.count))),
            counted(calls, "call")
        ),
    };
    let mut last = None;
    for finding in findings {
        let arch = finding.syscall.arch;
        if last != Some(arch) {
            let _ =
                writeln!(text, "\n{:<22}{:>14}  denied calls and verdicts", arch.name(), "count");
            last = Some(arch);
        }
        let name = syscall::name(Some(arch), finding.syscall.nr);
        let _ = write!(text, "  {name:<20}{:>14}  ", grouped(finding.count));
        let verdicts: Vec<String> = finding.verdicts.iter().copied().map(colored).collect();
        let mut words = format!("{}: {}", which(finding), verdicts.join(" or "));
        if let Some(fallback) = finding.fallback {
            let _ = write!(words, "; falls back to {fallback}, which is allowed");
        }
        wrap(&mut text, &words, 38, 38);
    }
    text
}

/// The syscalls that a finding is about, in words.
fn which(finding: &Finding) -> String {
    match &finding.certainty {
        Certainty::Every => "all".to_owned(),
        Certainty::Values(args) => {
            let args: Vec<String> = args
                .iter()
                .map(|(arg, values)| {
                    let SyscallId { arch, nr } = finding.syscall;
                    let of = |value: &u64| syscall::value_in_words(arch, nr, *arg, *value);
                    let mut list: Vec<String> = values.iter().take(MAX_LISTED).map(of).collect();
                    if let Some(more @ 1..) = values.len().checked_sub(MAX_LISTED) {
                        list.push(format!("{more} more"));
                    }
                    format!("{} = {}", argument(finding, *arg), list.join(", "))
                })
                .collect();
            format!("with {}", args.join(" or "))
        }
        Certainty::Possible => {
            let example = syscall::show(Some(finding.syscall.arch), &finding.example);
            let reasons: Vec<String> =
                finding.unrecorded.iter().map(|one| unrecorded(finding, *one)).collect();
            match reasons.as_slice() {
                [] => format!("perhaps {example}"),
                some => format!("perhaps {example}, depending on {}", some.join(" and ")),
            }
        }
    }
}

/// An unrecorded input, and why it is not recorded.
fn unrecorded(finding: &Finding, what: Unrecorded) -> String {
    match what {
        Unrecorded::InstructionPointer => {
            "the instruction pointer, which is not recorded".to_owned()
        }
        Unrecorded::Values(arg) => {
            format!("{}, whose value was not always recorded", argument(finding, arg))
        }
        Unrecorded::NotAnArgument(arg) => {
            format!("args[{arg}], which is not recorded because the syscall does not use it")
        }
    }
}

fn unrecorded_json(finding: &Finding, what: Unrecorded) -> Json {
    let (arg, name, why) = match what {
        Unrecorded::InstructionPointer => {
            (None, "instruction_pointer".to_owned(), "never recorded")
        }
        Unrecorded::Values(arg) => (Some(arg), argument(finding, arg), "values missing"),
        Unrecorded::NotAnArgument(arg) => (Some(arg), argument(finding, arg), "not an argument"),
    };
    Json::Object(vec![("arg", arg.into()), ("name", name.into()), ("why", why.into())])
}

/// The name of an argument.
fn argument(finding: &Finding, arg: u8) -> String {
    let facts = finding.syscall.name().and_then(syscalls::facts);
    let named = facts.and_then(|facts| facts.args.get(usize::from(arg)));
    named.map_or_else(|| format!("args[{arg}]"), |named| named.name.to_owned())
}

pub(crate) fn json(recording: &Recording, filter: &str, findings: &[Finding]) -> String {
    let items = findings.iter().map(|finding| {
        let (certainty, values) = match &finding.certainty {
            Certainty::Every => ("all", Vec::new()),
            Certainty::Values(args) => ("values", args.clone()),
            Certainty::Possible => ("possible", Vec::new()),
        };
        let values = values.iter().map(|(arg, values)| {
            Json::Object(vec![
                ("arg", (*arg).into()),
                ("name", argument(finding, *arg).into()),
                ("values", Json::array(values.iter().copied())),
            ])
        });
        let unrecorded = finding.unrecorded.iter().map(|one| unrecorded_json(finding, *one));
        let verdicts = finding.verdicts.iter().copied().map(verdict_json);
        Json::Object(vec![
            ("arch", finding.syscall.arch.name().into()),
            ("call", finding.syscall.name().into()),
            ("nr", finding.syscall.nr.into()),
            ("count", finding.count.into()),
            ("denied", finding.is_denied().into()),
            ("fallback", finding.fallback.into()),
            ("certainty", certainty.into()),
            ("values", Json::array(values)),
            ("unrecorded", Json::array(unrecorded)),
            ("verdicts", Json::array(verdicts)),
            ("example", Json::array(finding.example.args)),
        ])
    });
    let denied = findings.iter().filter(|finding| finding.is_denied()).count();
    let fallbacks = findings.iter().filter(|finding| finding.fallback.is_some()).count();
    let value = Json::Object(vec![
        ("source", filter.into()),
        ("calls", recording.syscalls().len().into()),
        ("count", recording.total().into()),
        ("denied", denied.into()),
        ("fallbacks", fallbacks.into()),
        ("findings", Json::array(items)),
    ]);
    format!("{value}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate::{SeccompData, Verdict};

    #[test]
    fn long_lists_of_values_are_shortened() {
        let finding = Finding {
            syscall: SyscallId::new(Arch::X86_64, 16),
            count: 1,
            verdicts: vec![Verdict::errno(1)],
            certainty: Certainty::Values(vec![(
                1,
                (0..9).map(|n| n * 4096).chain([0x5413]).collect(),
            )]),
            unrecorded: Vec::new(),
            example: SeccompData::default(),
            fallback: None,
        };
        assert!(which(&finding).starts_with("with cmd = 0, 0x1000, "));
        let named = Certainty::Values(vec![(1, vec![0x5413])]);
        assert_eq!(
            which(&Finding { certainty: named, ..finding.clone() }),
            "with cmd = TIOCGWINSZ"
        );
        assert!(which(&finding).ends_with(", 2 more"));
    }
}
