//! The report as text.

use std::collections::BTreeMap;
use std::fmt::Write;

use callgate_linux::SeccompMode;
use callgate_measure::own_filters::{Finding, ProbeCall, ProbedCall};

use super::found::Report;
use super::nearest::Nearest;
use super::summary::{Summary, errno_text, reason, show, syscalls};
use crate::output::wrap;
use crate::text::counted;

/// A profile is near if at most one in this many answers differs.
const NEAR: usize = 20;

/// How many profiles that are as near are printed.
const MOST_OTHERS: usize = 8;

/// How many calls that differ from the nearest profile are printed.
const MOST_DIFFERENT: usize = 20;

/// The calls that are made.
pub(super) fn list(calls: &[ProbeCall]) -> String {
    calls.iter().map(|call| format!("{:<46} {}\n", call.shown, call.answers)).collect()
}

/// What was found out about some syscalls, call by call.
pub(super) fn calls(report: &Report, names: &[String]) -> String {
    let mut text = status(report);
    let wanted =
        report.calls.iter().filter(|call| names.iter().any(|one| one == call.call.syscall));
    for call in wanted {
        let _ = writeln!(text, "{}: {}", call.call.shown, show(&call.finding));
    }
    text
}

/// All that was found out.
pub(super) fn report(report: &Report) -> String {
    let mut text = status(report);
    if report.calls.is_empty() {
        return text;
    }
    let all = syscalls(&report.calls);
    let made = counted(report.calls.len() as u64, "call");
    let _ = writeln!(text, "{made} of {} were made", counted(all.len() as u64, "syscall"));
    let mut known: BTreeMap<(u8, String), Vec<&str>> = BTreeMap::new();
    let mut unknown: BTreeMap<String, Vec<&str>> = BTreeMap::new();
    let mut depending = Vec::new();
    for (name, summary, calls) in &all {
        match summary {
            Summary::Known(finding) => {
                known.entry((rank(finding), show(finding))).or_default().push(name);
            }
            Summary::Unknown(doubt) => unknown.entry(reason(doubt)).or_default().push(name),
            Summary::Depends => depending.extend(calls.iter().copied()),
        }
    }
    for ((_, title), names) in &known {
        let _ = writeln!(text, "\n{title} ({})", counted(names.len() as u64, "syscall"));
        write_names(&mut text, names);
    }
    if !depending.is_empty() {
        text.push_str("\ndepends on arguments\n");
        for call in depending {
            let _ = writeln!(text, "  {}: {}", call.call.shown, show(&call.finding));
        }
    }
    for (reason, names) in &unknown {
        let count = counted(names.len() as u64, "syscall");
        let _ = writeln!(text, "\nunknown ({count}): {reason}");
        write_names(&mut text, names);
    }
    if let Some(nearest) = &report.nearest {
        write_nearest(&mut text, nearest, &report.calls);
    }
    text.push_str(
        "\nnot told: other arguments than those of --list, and other ABIs than this one\n\
         next: as root outside of the container, `callgate dump PID` reads the filters\n",
    );
    text
}

/// The order of headings.
fn rank(finding: &Finding) -> u8 {
    match finding {
        Finding::Killed | Finding::KilledOrTrapped => 0,
        Finding::Trapped => 1,
        Finding::Denied(_) => 2,
        Finding::Allowed => 3,
        Finding::Unknown(_) => 4,
    }
}

/// What `/proc` says.
fn status(report: &Report) -> String {
    let filters = report.status.as_ref().and_then(|status| status.filters);
    let first = match (report.mode(), filters) {
        (SeccompMode::Off, _) => {
            return "this process has no filter: the kernel executes every syscall\n".to_owned();
        }
        (SeccompMode::Strict, _) => "this process is in the strict mode".to_owned(),
        (SeccompMode::Filter, Some(count)) => {
            format!("this process has {}", counted(count as u64, "filter"))
        }
        (SeccompMode::Filter, None) => "this process has a filter".to_owned(),
        (SeccompMode::Unknown, _) => {
            "/proc does not say whether this process has a filter".to_owned()
        }
    };
    let no_new_privs = match report.status.as_ref().and_then(|status| status.no_new_privs) {
        Some(true) => ", and no_new_privs",
        Some(false) => ", and not no_new_privs",
        None => "",
    };
    format!("{first}{no_new_privs}\n")
}

fn write_nearest(text: &mut String, nearest: &Nearest, calls: &[ProbedCall]) {
    let Nearest { name, releases, caps, is_own, libseccomp, different, compared, others } = nearest;
    let agree = compared - different.len();
    // Another filter altogether.
    let is_far = different.len() * NEAR > *compared;
    let known =
        if is_far { "no known profile is near; the nearest" } else { "nearest known profile" };
    let _ = writeln!(text, "\n{known}: {name}, {agree} of {compared} answers agree");
    if is_far {
        return;
    }
    if !releases.is_empty() {
        let _ = writeln!(text, "  of {}", releases.join(", "));
    }
    let whose = match *is_own {
        true => "of this process (CapBnd)".to_owned(),
        false => format!("{caps}, which the engine gives"),
    };
    let _ = writeln!(text, "  with the capabilities {whose}");
    if let Some((oldest, newest)) = libseccomp {
        let which = match oldest == newest {
            true => newest.to_string(),
            false => format!("{oldest} to {newest}"),
        };
        let _ = writeln!(text, "  read with libseccomp {which}, which lacks newer syscalls");
    }
    if !others.is_empty() {
        text.push_str("  ");
        let more = others.len().saturating_sub(MOST_OTHERS);
        let mut words = others.iter().take(MOST_OTHERS).cloned().collect::<Vec<_>>().join(", ");
        if more > 0 {
            words.push_str(&format!(" and {more} more"));
        }
        wrap(text, &format!("as near: {words}"), 2, 4);
    }
    for (at, verdict) in different.iter().take(MOST_DIFFERENT) {
        let Some(call) = calls.get(*at) else { continue };
        let _ = writeln!(text, "  {}: {}; the profile: {verdict}", call.call.shown, observed(call));
    }
    if let Some(more @ 1..) = different.len().checked_sub(MOST_DIFFERENT) {
        let _ = writeln!(text, "  {more} more differ; --format json has all");
    }
}

/// What came back for a call.
fn observed(call: &ProbedCall) -> String {
    use callgate_measure::own_filters::Outcome;
    match call.outcome {
        _ if call.finding == Finding::Allowed => "allowed".to_owned(),
        Outcome::Errno(errno) => errno_text(errno),
        Outcome::Value(value) => value.to_string(),
        Outcome::Killed => "killed".to_owned(),
        Outcome::Trapped(_) => "trapped".to_owned(),
        Outcome::NoAnswer => "no answer".to_owned(),
        Outcome::Ended(_) => "the child ended".to_owned(),
        Outcome::NotMade => "not made".to_owned(),
    }
}

/// Writes names in lines that begin with two blanks.
fn write_names(text: &mut String, names: &[&str]) {
    text.push_str("  ");
    wrap(text, &names.join(" "), 2, 2);
}
