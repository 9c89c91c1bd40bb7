//! `callgate check`: which recorded calls a filter would deny.

use std::ffi::OsString;
use std::fmt::Write;

use callgate::Arch;
use callgate::check::{Certainty, Finding, Unrecorded, check};
use callgate::diagram::Store;
use callgate::recording::{Effect, Recording};
use callgate::syscalls;
use clap::ValueHint;

use super::explain::{colored, verdict_json};
use crate::call;
use crate::json::Json;
use crate::options::{Format, SourceOptions};
use crate::output::{self, wrap};
use crate::recordings::{self, Named, Reading};
use crate::report::{self, Failure, Result};
use crate::source::{BUILT_IN, Source, Stack};
use crate::text::{self, grouped, printable, times};

/// Say which recorded calls a filter would deny
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The SOURCE comes last, or after -s; of several recordings the counts add up. A
RECORDING is what callgate record writes, a log of strace, a table of strace -c
or perf trace -s, or SECCOMP records of the audit log, dmesg or journalctl.

A recording knows the values of each argument for itself. \"all\" calls are
denied, or those with certain values, whatever their other arguments were; what
is denied only with some values together may never have happened and stands
there as \"perhaps\". So does what depends on something that is not recorded, and
the line names it: registers beyond the arguments of a syscall hold anything and
are not kept, and logs do not have every value.

Examples:
  callgate check T.json profile.json
  callgate check T.json                      under container-default
  callgate check -s filter.bpf T1.json T2.json --format json

Exit status: 0 nothing is denied, 1 something is or may be, 2 trouble.")]
pub(crate) struct CheckArgs {
    /// Recordings, and as the last one the filter, unless it is given with -s
    #[arg(required = true, value_name = "RECORDING", value_hint = ValueHint::FilePath)]
    files: Vec<OsString>,

    /// The filter, a SOURCE (see `callgate --help`)
    #[arg(short, long, value_hint = ValueHint::FilePath)]
    source: Option<OsString>,

    /// Take the whole entries of a recording that is cut off; what came after them is missing
    #[arg(long)]
    partial: bool,

    /// The form of the result
    #[arg(long, value_name = "FORM", default_value = "text")]
    format: Format,

    #[command(flatten)]
    reading: SourceOptions,
}

/// How many values of an argument are listed.
const SHOWN: usize = 8;

pub(crate) fn run(args: &CheckArgs) -> Result<u8> {
    let (files, source) = match (&args.source, args.files.as_slice()) {
        (Some(source), files) => (files, source.clone()),
        (None, [files @ .., source]) if !files.is_empty() => (files, source.clone()),
        (None, files) => (files, OsString::from(BUILT_IN)),
    };
    let arch = args.reading.arch.first().copied();
    let reading = Reading { arch, strict: args.reading.strict, partial: args.partial };
    let named = recordings::read_all(files, reading)?;
    if args.source.is_none() && recordings::is_recording(&source, arch)? {
        let name = source.display();
        return Err(Failure::new(format!("{name} is a recording, but the filter comes last"))
            .help("name the filter with -s SOURCE, or after all recordings"));
    }
    let filter = Source::parse(&source)?.read(&args.reading)?;
    let recording = recordings::merged(&named);
    warn_about(&named, &recording, &filter);

    let mut store = Store::default();
    let root = filter.diagram(&mut store)?;
    let findings = check(&mut store, root, &recording)
        .map_err(|error| Failure::about(&filter.name, error.to_string()))?;
    let denied = findings.iter().any(Finding::is_denied);
    let text = match args.format {
        Format::Text => table(&recording, &filter.name, &findings),
        Format::Json => json(&recording, &filter.name, &findings),
    };
    output::print(&text)?;
    Ok(u8::from(denied))
}

/// Says where the answer may not be what somebody wants to know.
fn warn_about(named: &[Named], recording: &Recording, filter: &Stack) {
    for Named { name, recording } in named {
        for caveat in recording.caveats() {
            let help = match caveat.effect {
                Effect::Incomplete => "the filter may deny calls that are missing; record again",
                Effect::Altered => "the program may call something else without the recorder",
                Effect::Excess => {
                    "what was denied while recording may be denied by this filter, too"
                }
            };
            report::warn_about(name, caveat.text, help);
        }
    }
    let arches = filter.arches();
    let mut others: Vec<Arch> = recording.calls().map(|(call, _)| call.arch).collect();
    others.retain(|arch| !arches.contains(arch));
    others.dedup();
    for arch in others {
        let own: Vec<&str> = arches.iter().map(|arch| arch.name()).collect();
        report::warn_about(
            &filter.name,
            format!("calls of {arch} were recorded, but the filter is for {}", own.join(", ")),
            format!("--arch {arch} reads a profile for that architecture"),
        );
    }
}

fn table(recording: &Recording, filter: &str, findings: &[Finding]) -> String {
    let filter = printable(filter);
    let all = format!("{}, {}", text::count(recording.calls().len()), times(recording.total()));
    if findings.is_empty() {
        return format!("{filter} allows all that was recorded: {all}\n");
    }
    let denied: Vec<&Finding> = findings.iter().filter(|finding| finding.is_denied()).collect();
    let together = denied.iter().fold(0, |sum: u64, finding| sum.saturating_add(finding.count));
    let mut text = match denied.len() {
        0 => format!("{filter} denies nothing that was recorded ({all})\n"),
        some => format!(
            "{filter} denies {}, recorded {}, of {all}\n",
            text::count(some),
            times(together)
        ),
    };
    let mut last = None;
    for finding in findings {
        let arch = finding.call.arch;
        if last != Some(arch) {
            let _ =
                writeln!(text, "\n{:<22}{:>14}  which, and what they get", arch.name(), "count");
            last = Some(arch);
        }
        let name = call::name(Some(arch), finding.call.nr);
        let _ = write!(text, "  {name:<20}{:>14}  ", grouped(finding.count));
        let verdicts: Vec<String> = finding.verdicts.iter().copied().map(colored).collect();
        let words = format!("{}: {}", which(finding), verdicts.join(" or "));
        wrap(&mut text, &words, 38, 38);
    }
    text
}

/// Which of the recorded calls a finding is about, in words.
fn which(finding: &Finding) -> String {
    match &finding.certainty {
        Certainty::Every => "all".to_owned(),
        Certainty::Values(args) => {
            let args: Vec<String> = args
                .iter()
                .map(|(arg, values)| {
                    let mut list: Vec<String> = values.iter().take(SHOWN).map(number).collect();
                    if let Some(more @ 1..) = values.len().checked_sub(SHOWN) {
                        list.push(format!("{more} more"));
                    }
                    format!("{} = {}", argument(finding, *arg), list.join(", "))
                })
                .collect();
            format!("with {}", args.join(" or "))
        }
        Certainty::Possible => {
            let example = call::show(Some(finding.call.arch), &finding.example);
            let reasons: Vec<String> =
                finding.unrecorded.iter().map(|one| unrecorded(finding, *one)).collect();
            match reasons.as_slice() {
                [] => format!("perhaps {example}"),
                some => format!("perhaps {example}, depending on {}", some.join(" and ")),
            }
        }
    }
}

/// What a recording does not have, and why not.
fn unrecorded(finding: &Finding, what: Unrecorded) -> String {
    match what {
        Unrecorded::InstructionPointer => {
            "the instruction pointer, which is not recorded".to_owned()
        }
        Unrecorded::Values(arg) => {
            format!("{}, of which not all values were recorded", argument(finding, arg))
        }
        Unrecorded::NotAnArgument(arg) => {
            format!("args[{arg}], which is not an argument of this syscall and is not recorded")
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
    let facts = finding.call.name().and_then(syscalls::facts);
    let named = facts.and_then(|facts| facts.args.get(usize::from(arg)));
    named.map_or_else(|| format!("args[{arg}]"), |named| named.name.to_owned())
}

fn number(value: &u64) -> String {
    if *value < 4096 { value.to_string() } else { format!("{value:#x}") }
}

fn json(recording: &Recording, filter: &str, findings: &[Finding]) -> String {
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
            ("arch", finding.call.arch.name().into()),
            ("call", finding.call.name().into()),
            ("nr", finding.call.nr.into()),
            ("count", finding.count.into()),
            ("denied", finding.is_denied().into()),
            ("certainty", certainty.into()),
            ("values", Json::array(values)),
            ("unrecorded", Json::array(unrecorded)),
            ("verdicts", Json::array(verdicts)),
            ("example", Json::array(finding.example.args)),
        ])
    });
    let denied = findings.iter().filter(|finding| finding.is_denied()).count();
    let value = Json::Object(vec![
        ("source", filter.into()),
        ("calls", recording.calls().len().into()),
        ("count", recording.total().into()),
        ("denied", denied.into()),
        ("findings", Json::array(items)),
    ]);
    format!("{value}\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate::recording::CallId;
    use callgate::{SeccompData, Verdict};

    #[test]
    fn long_lists_of_values_are_cut() {
        let finding = Finding {
            call: CallId::new(Arch::X86_64, 16),
            count: 1,
            verdicts: vec![Verdict::errno(1)],
            certainty: Certainty::Values(vec![(1, (0..10).map(|n| n * 4096).collect())]),
            unrecorded: Vec::new(),
            example: SeccompData::default(),
        };
        assert!(which(&finding).starts_with("with cmd = 0, 0x1000, "));
        assert!(which(&finding).ends_with(", 2 more"));
    }
}
