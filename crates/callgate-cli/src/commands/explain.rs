//! `callgate explain`: lists what a filter does with each syscall.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fmt::Write;

use anstyle::Style;
use callgate::diagram::Store;
use callgate::explain::{self, ArchExplanation, Explanation, Group, Outcome};
use callgate::policy::SyscallSet;
use callgate::{Action, Arch, Verdict, Word};
use callgate_requests::explanation::{explanation as explanation_json, keep_only};
use callgate_requests::json::Json;
use clap::ValueHint;

use super::rule_places::RulePlaces;
use crate::options::{Format, SourceOptions};
use crate::outcome::{self, GOOD, UNUSUAL, argument_names, colored, complex};
use crate::output::{self, width, wrap};
use crate::report::Result;
use crate::source::{BUILT_IN, Source};
use crate::text::counted;

/// List what the filter does with each syscall
#[derive(Debug, clap::Args)]
#[command(after_help = "\
The table is derived from the semantics of the filter, so that a program is
explained in the same way as a profile. For each further architecture, it shows
only differences from the first one; --format json contains everything.
pid:N shows the combined effect of all filters of process N.

Examples:
  callgate explain
  callgate explain pid:1234
  callgate explain profile.json clone socket
  callgate explain profile.json --why clone socket
  callgate explain filter.bpf --format json

Exit status: 0 success, 2 error.")]
pub(crate) struct ExplainArgs {
    /// The filter, a SOURCE (see `callgate --help`)
    #[arg(default_value = BUILT_IN, value_hint = ValueHint::FilePath)]
    source: OsString,

    /// Show only these syscalls: names, or numbers as the filter sees them [default: all]
    #[arg(value_name = "SYSCALL")]
    calls: Vec<String>,

    /// Show where the profile has the rules of each syscall: file, line and column
    #[arg(long)]
    why: bool,

    /// The format of the result
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,

    #[command(flatten)]
    reading: SourceOptions,
}

/// The maximum number of ranges of unnamed numbers that are listed.
const RANGES: usize = 6;

const HEADING: Style = Style::new().bold();

pub(crate) fn run(args: &ExplainArgs) -> Result<u8> {
    let reading = if args.why { args.reading.with_statements() } else { args.reading.clone() };
    let filter = Source::parse(&args.source)?.read(&reading)?;
    let places = args.why.then(|| RulePlaces::of(&filter));
    let mut store = Store::default();
    let root = filter.diagram(&mut store)?;
    let mut explanation = explain::explain(&store, root, &filter.arches());
    if !args.calls.is_empty() {
        keep_only(&mut explanation, &args.calls)?;
    }
    let text = match args.format {
        Format::Text => {
            let mut text = text(&explanation, places.as_ref());
            if args.calls.is_empty() {
                let asks = store.top_word(root) == Some(Word::ARCH);
                other_arches(&mut text, explanation.other_arches, asks);
            }
            text
        }
        Format::Json => {
            let mut json = explanation_json(&filter.name, &explanation);
            if let (Json::Object(fields), Some(places)) = (&mut json, &places) {
                let is_shown = |token, nr| {
                    explanation.arches.iter().filter(|one| one.arch.token() == token).any(|one| {
                        let mut shown = one.groups.iter().flat_map(|group| &group.syscalls);
                        shown.any(|(own, _)| *own == nr)
                    })
                };
                fields.push(("rules", places.json(is_shown)));
            }
            format!("{json}\n")
        }
    };
    output::print(&text)?;
    Ok(0)
}

fn text(explanation: &Explanation, places: Option<&RulePlaces<'_>>) -> String {
    let mut text = String::new();
    let mut arches = explanation.arches.iter();
    let first = arches.next();
    if let Some(first) = first {
        arch_text(&mut text, first, None, places);
    }
    for (arch, first) in arches.zip(std::iter::repeat(first)) {
        text.push('\n');
        match first.and_then(|first| beside(first, arch).map(|others| (first.arch, others))) {
            Some((first, others)) => arch_text(&mut text, &others, Some(first), places),
            None => arch_text(&mut text, arch, None, places),
        }
    }
    text
}

/// The verdict for architectures without a table; `asks` is whether the filter compares the architecture.
fn other_arches(text: &mut String, verdict: Option<Verdict>, asks: bool) {
    let verdict = match verdict {
        Some(verdict) => colored(verdict),
        None if asks => "depends on the syscall".to_owned(),
        None => {
            format!(
                "{UNUSUAL}by syscall number{UNUSUAL:#}: the filter does not check the architecture"
            )
        }
    };
    let _ = writeln!(text, "\n{HEADING}all other architectures{HEADING:#}\n  {verdict}");
}

/// The syscalls of an architecture whose outcome differs from the first architecture; `None` if these are most of
/// them.
fn beside(first: &ArchExplanation, arch: &ArchExplanation) -> Option<ArchExplanation> {
    let of =
        |arch: &ArchExplanation| -> usize { arch.groups.iter().map(|g| g.syscalls.len()).sum() };
    let known: HashMap<&str, &Outcome> = first
        .groups
        .iter()
        .flat_map(|group| group.syscalls.iter().map(|(_, name)| (*name, &group.outcome)))
        .collect();
    let mut others = arch.clone();
    for group in &mut others.groups {
        group.syscalls.retain(|(_, name)| known.get(name) != Some(&&group.outcome));
    }
    others.groups.retain(|group| !group.syscalls.is_empty());
    if first.arch.token() == arch.arch.token() {
        others.unnamed.clear();
    }
    (of(&others) * 2 < of(arch)).then_some(others)
}

/// The table of an architecture; if `like` is given, it contains only the differences from that architecture.
fn arch_text(
    text: &mut String,
    explanation: &ArchExplanation,
    like: Option<Arch>,
    places: Option<&RulePlaces<'_>>,
) {
    let _ = write!(text, "{HEADING}{}{HEADING:#}", explanation.arch);
    match like {
        Some(first) if explanation.groups.is_empty() => {
            let _ = write!(text, ": as {first}");
        }
        Some(first) => {
            let _ = write!(text, ": as {first}, except");
        }
        None => {}
    }
    text.push('\n');
    let depends = |group: &&Group| !matches!(group.outcome, Outcome::Always(_));
    let mut conditional = explanation.groups.iter().filter(depends).peekable();
    for group in &explanation.groups {
        match group.outcome {
            Outcome::Always(verdict) => {
                let _ =
                    writeln!(text, "  {} ({})", always(verdict), syscalls(group.syscalls.len()));
                names(text, group, explanation.arch, places);
            }
            // All conditional groups follow at the place of the first.
            _ if conditional.peek().is_some() => {
                let number =
                    explanation.groups.iter().filter(depends).map(|g| g.syscalls.len()).sum();
                let _ = writeln!(text, "  depends on arguments ({})", syscalls(number));
                conditional
                    .by_ref()
                    .for_each(|group| conditions(text, group, explanation.arch, places));
            }
            _ => {}
        }
    }
    if !explanation.unnamed.is_empty() {
        text.push_str("  unnamed numbers\n");
    }
    for (outcome, calls) in &explanation.unnamed {
        let outcome = match outcome {
            Outcome::Always(verdict) => colored(*verdict),
            Outcome::Depends { .. } => "depends on arguments".to_owned(),
            Outcome::Complex { verdicts } => complex(verdicts),
        };
        let _ = write!(text, "    {outcome}:");
        wrap(text, &format!(" {}", ranges(calls)), width(&outcome) + 5, 6);
    }
}

/// The outcome if it does not depend on arguments.
fn always(verdict: Verdict) -> String {
    let what = match verdict.action() {
        _ if verdict == Verdict::ALLOW => return format!("{GOOD}always allowed{GOOD:#}"),
        Action::Allow => "always allowed with",
        Action::Log => "always allowed and logged with",
        Action::Trace(_) => "passed to a tracer with",
        Action::UserNotif(_) => "passed to a supervisor with",
        _ => "denied with",
    };
    format!("{what} {}", colored(verdict))
}

fn syscalls(number: usize) -> String {
    counted(number as u64, "syscall")
}

/// The syscalls of a group with the conditions on their arguments.
fn conditions(text: &mut String, group: &Group, arch: Arch, places: Option<&RulePlaces<'_>>) {
    names(text, group, arch, places);
    let lines = outcome::lines(&group.outcome, arch, argument_names(&group.syscalls, arch));
    for line in lines {
        text.push_str("      ");
        wrap(text, &line, 6, 8);
    }
}

/// The syscalls of a group; with places, each that has rules in a line of its own.
fn names(text: &mut String, group: &Group, arch: Arch, places: Option<&RulePlaces<'_>>) {
    let mut named: Vec<(&str, Vec<String>)> = group
        .syscalls
        .iter()
        .map(|(nr, name)| (*name, places.map_or(Vec::new(), |all| all.of_syscall(arch, *nr))))
        .collect();
    named.sort_unstable();
    for (name, places) in named.iter().filter(|(_, places)| !places.is_empty()) {
        text.push_str("    ");
        wrap(text, &format!("{name}: {}", places.join(", ")), 4, 6);
    }
    named.retain(|(_, places)| places.is_empty());
    let names: Vec<&str> = named.into_iter().map(|(name, _)| name).collect();
    if names.is_empty() {
        return;
    }
    let defaults = places.map_or(&[][..], RulePlaces::defaults);
    if !defaults.is_empty() {
        text.push_str("    ");
        wrap(text, &format!("by default ({}):", defaults.join(", ")), 4, 6);
    }
    text.push_str("    ");
    wrap(text, &names.join(" "), 4, 4);
}

fn ranges(calls: &SyscallSet) -> String {
    let ranges = calls.ranges();
    let mut parts: Vec<String> = ranges
        .iter()
        .take(RANGES)
        .map(|(first, last)| match (first, last) {
            (first, last) if first == last => number(*first),
            (first, last) => format!("{}-{}", number(*first), number(*last)),
        })
        .collect();
    if let Some(more @ 1..) = ranges.len().checked_sub(RANGES) {
        parts.push(format!("and {more} more"));
    }
    parts.join(" ")
}

/// Numbers with the x32 bit are easier to read in hexadecimal.
fn number(nr: u32) -> String {
    if nr < 0x1_0000 { nr.to_string() } else { format!("{nr:#x}") }
}
