//! The list of syscalls as text.

use std::fmt::Write;

use anstyle::Style;
use callgate::explain::{ArchExplanation, Group, Outcome};
use callgate::{Action, Arch, Verdict};
use callgate_core::SyscallSet;

use super::args::By;
use super::explained::{Explained, OtherArches};
use super::parts::{Listed, Part, listed, parts};
use crate::commands::rule_places::RulePlaces;
use crate::outcome::{self, GOOD, UNUSUAL, argument_names, colored, complex};
use crate::output::{width, wrap};
use crate::text::counted;

/// The maximum number of ranges of unnamed numbers that are listed.
const RANGES: usize = 6;

const HEADING: Style = Style::new().bold();

pub(super) fn text(explained: &Explained<'_>) -> String {
    let mut text = String::new();
    for (at, arch) in listed(&explained.explanation).iter().enumerate() {
        if at > 0 {
            text.push('\n');
        }
        let list = match arch {
            Listed::Whole(arch) => {
                let _ = writeln!(text, "{HEADING}{}{HEADING:#}", arch.arch);
                arch
            }
            Listed::Differences { first, others } => {
                let except = if others.groups.is_empty() { "" } else { ", except" };
                let _ = writeln!(
                    text,
                    "{HEADING}{}{HEADING:#}: as {}{except}",
                    others.arch, first.arch
                );
                others
            }
        };
        arch_text(&mut text, list, explained);
    }
    if explained.is_whole {
        other_arches(&mut text, &explained.other_arches());
    }
    text
}

/// The verdict for architectures without a table.
fn other_arches(text: &mut String, verdict: &OtherArches) {
    let verdict = match verdict {
        OtherArches::Always(verdict) => colored(*verdict),
        OtherArches::Depends => "depends on the syscall".to_owned(),
        OtherArches::NotChecked => {
            format!(
                "{UNUSUAL}by syscall number{UNUSUAL:#}: the filter does not check the architecture"
            )
        }
    };
    let _ = write!(text, "\n{HEADING}all other architectures{HEADING:#}\n  ");
    wrap(text, &verdict, 2, 4);
}

/// The list of an architecture.
fn arch_text(text: &mut String, list: &ArchExplanation, explained: &Explained<'_>) {
    let places = explained.places.as_ref();
    for part in parts(list, explained.by) {
        match explained.by {
            By::Verdict => by_verdict(text, &part, list.arch, places),
            By::Group => of_group(text, &part, list.arch, places),
            By::Name => {
                for group in &part.groups {
                    by_name(text, group, list.arch, places);
                }
            }
        }
    }
    if !list.unnamed.is_empty() {
        text.push_str("  unnamed numbers\n");
    }
    for (outcome, calls) in &list.unnamed {
        let outcome = unnamed(outcome);
        let _ = write!(text, "    {outcome}:");
        wrap(text, &format!(" {}", ranges(calls)), width(&outcome) + 5, 6);
    }
}

/// What happens to numbers without a name.
pub(super) fn unnamed(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Always(verdict) => colored(*verdict),
        Outcome::Depends { .. } => "depends on arguments".to_owned(),
        Outcome::Complex { verdicts } => complex(verdicts),
    }
}

fn by_verdict(text: &mut String, part: &Part, arch: Arch, places: Option<&RulePlaces<'_>>) {
    let depends = |group: &&Group| !matches!(group.outcome, Outcome::Always(_));
    let mut conditional = part.groups.iter().filter(depends).peekable();
    for group in &part.groups {
        match group.outcome {
            Outcome::Always(verdict) => {
                text.push_str("  ");
                wrap(
                    text,
                    &format!("{} ({})", always(verdict), syscalls(group.syscalls.len())),
                    2,
                    4,
                );
                names(text, group, arch, places, 4);
            }
            // All conditional groups follow at the place of the first.
            _ if conditional.peek().is_some() => {
                let number = part.groups.iter().filter(depends).map(|g| g.syscalls.len()).sum();
                let _ = writeln!(text, "  depends on arguments ({})", syscalls(number));
                conditional.by_ref().for_each(|group| conditions(text, group, arch, places));
            }
            _ => {}
        }
    }
}

/// Syscalls with one purpose.
fn of_group(text: &mut String, part: &Part, arch: Arch, places: Option<&RulePlaces<'_>>) {
    if let Some(heading) = &part.heading {
        let count = format!("{} of {} allowed", heading.allowed, heading.all);
        text.push_str("  ");
        wrap(text, &format!("{HEADING}{}{HEADING:#}: {count}", heading.title), 2, 4);
    }
    for group in &part.groups {
        match group.outcome {
            Outcome::Always(verdict) => {
                let what = always(verdict);
                if places.is_some() {
                    let _ = writeln!(text, "    {what}");
                    names(text, group, arch, places, 6);
                } else {
                    let mut names: Vec<&str> =
                        group.syscalls.iter().map(|(_, name)| *name).collect();
                    names.sort_unstable();
                    text.push_str("    ");
                    wrap(text, &format!("{what}: {}", names.join(" ")), 4, 6);
                }
            }
            _ => conditions(text, group, arch, places),
        }
    }
}

/// A syscall in a line of its own.
fn by_name(text: &mut String, group: &Group, arch: Arch, places: Option<&RulePlaces<'_>>) {
    let lines = outcome::lines(&group.outcome, arch, argument_names(&group.syscalls, arch));
    for (nr, name) in &group.syscalls {
        let places = places.map_or(Vec::new(), |places| places.of_syscall(arch, *nr));
        let places =
            if places.is_empty() { String::new() } else { format!(" ({})", places.join(", ")) };
        text.push_str("  ");
        wrap(text, &format!("{name}: {}{places}", lines.join("; ")), 2, 6);
    }
}

/// The outcome if it does not depend on arguments.
pub(super) fn always(verdict: Verdict) -> String {
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

pub(super) fn syscalls(number: usize) -> String {
    counted(number as u64, "syscall")
}

/// The syscalls of a group with the conditions on their arguments.
fn conditions(text: &mut String, group: &Group, arch: Arch, places: Option<&RulePlaces<'_>>) {
    names(text, group, arch, places, 4);
    let lines = outcome::lines(&group.outcome, arch, argument_names(&group.syscalls, arch));
    for line in lines {
        text.push_str("      ");
        wrap(text, &line, 6, 8);
    }
}

/// The syscalls of a group; with places, each that has rules in a line of its own.
fn names(
    text: &mut String,
    group: &Group,
    arch: Arch,
    places: Option<&RulePlaces<'_>>,
    indent: usize,
) {
    let mut line = |words: &str, hanging: usize| {
        let _ = write!(text, "{:indent$}", "");
        wrap(text, words, indent, hanging);
    };
    let mut named: Vec<(&str, Vec<String>)> = group
        .syscalls
        .iter()
        .map(|(nr, name)| (*name, places.map_or(Vec::new(), |all| all.of_syscall(arch, *nr))))
        .collect();
    named.sort_unstable();
    for (name, places) in named.iter().filter(|(_, places)| !places.is_empty()) {
        line(&format!("{name}: {}", places.join(", ")), indent + 2);
    }
    named.retain(|(_, places)| places.is_empty());
    let names: Vec<&str> = named.into_iter().map(|(name, _)| name).collect();
    if names.is_empty() {
        return;
    }
    let defaults = places.map_or(&[][..], RulePlaces::defaults);
    if !defaults.is_empty() {
        line(&format!("by default ({}):", defaults.join(", ")), indent + 2);
    }
    line(&names.join(" "), indent);
}

pub(super) fn ranges(calls: &SyscallSet) -> String {
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
