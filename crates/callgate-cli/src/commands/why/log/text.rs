//! Denials as text.

use std::collections::BTreeMap;

use callgate::Arch;
use callgate_requests::kernel_checks::elsewhere;
use callgate_requests::syscall;
use callgate_trace::denials::{Denial, DenialLog, Evidence, MAX_DENIALS, OtherDenials};
use callgate_trace::recording::SyscallId;

use super::super::patch::patch_lines;
use super::super::read::Read;
use super::super::text::{advice, answer, rule_of};
use super::explained::{Combined, Explained, LeftOut, MAX_CHANGES, changed};
use super::groups::Groups;
use super::hints;
use super::usual::SIGNAL;
use crate::output::wrap;
use crate::text::{counted, printable, times};

/// What is shown of the changes.
#[derive(Clone, Copy)]
pub(super) struct Shown {
    /// Whether the patch for all allows dangerous syscalls.
    pub(super) with_dangerous: bool,
    /// Whether each denial has a patch.
    pub(super) each: bool,
}

/// What a log contains, and each denial with its reason.
pub(super) fn log(
    name: &str,
    arch: Arch,
    log: &DenialLog,
    groups: &Groups<'_>,
    explained: &[Explained<'_>],
    combined: &[Combined],
    shown: Shown,
) -> String {
    let mut text = String::new();
    let mut parts = summary(arch, log, &groups.outside);
    if groups.unrelated > 0 {
        let calls = counted(groups.unrelated, "syscall");
        parts.push(format!("{calls} failed, but not by this filter"));
    }
    wrap(&mut text, &format!("{}: {}", printable(name), parts.join("; ")), 0, 2);
    let mut used = groups.used();
    let assumed = used.find_map(|one| one.read.source.assumed(&one.read.stack, &one.options));
    if let Some(assumed) = assumed {
        wrap(&mut text, &assumed, 0, 2);
    }
    unread(&mut text, log);
    after_none(&mut text, log, &groups.outside);
    older_runtime(&mut text, groups);
    unknown_names(&mut text, groups);
    logged(&mut text, log);
    table(&mut text, explained);
    for one in explained {
        text.push('\n');
        let example = match one.has_example {
            true if one.denial.call.args.iter().all(Option::is_none) => {
                "; the log has no arguments, these are an example"
            }
            true => "; the log does not have all arguments, these are an example",
            false => "",
        };
        wrap(&mut text, &format!("{}{example}:", occurrence(&one.denial)), 0, 2);
        text.push_str(&answer(&one.answer, &[]));
        if one.answer.verdict.permits() {
            let message = "the filter allows it: the filter has changed since, or another filter denied the call";
            let read = groups.of(&one.denial).map(|group| &group.read);
            let message = match read.is_some_and(Read::blocks_nothing) {
                true => {
                    "this profile blocks nothing, it only records: another filter denied the call"
                }
                false => message,
            };
            wrap(&mut text, message, 0, 2);
        }
        if let Evidence::Failed(errno) = one.denial.call.evidence {
            let SyscallId { arch, nr } = one.denial.call.syscall;
            let why = elsewhere(&syscall::name(Some(arch), nr), errno, arch.enosys());
            if let Some(why) = why {
                wrap(&mut text, &format!("the error may also come from {why}"), 0, 2);
            }
        }
        if !one.foreign.is_empty() {
            let also = if one.foreign.len() < one.denial.verdicts.len() { " also" } else { "" };
            let message = format!(
                "the log{also} says {}, which this filter never returns for this syscall: another filter denied it, or this one has \
                 changed since",
                one.foreign.join(" and ")
            );
            wrap(&mut text, &message, 0, 2);
            let is_of_signal = |action: &&str| {
                matches!(*action, "SIGSYS" | "KILL_PROCESS" | "KILL_THREAD" | "TRAP")
            };
            if one.foreign.iter().all(is_of_signal) {
                wrap(&mut text, SIGNAL, 0, 2);
            }
        }
        if let Some(found) = &one.advice {
            let of_group = groups.of(&one.denial);
            let is_single = of_group.is_none_or(|of| changed(explained, groups, of).count() < 2);
            let source = of_group.map_or("SOURCE", |group| group.read.stack.name.as_str());
            text.push_str(&advice(found, is_single || shown.each, source));
        }
    }
    if explained.len() > MAX_CHANGES {
        text.push('\n');
        let message =
            format!("changes were searched for the {MAX_CHANGES} most frequent denials only");
        wrap(&mut text, &message, 0, 2);
    }
    for group in groups.used() {
        // A single change was shown with its denial.
        let changes = changed(explained, groups, group);
        let of: Vec<Arch> = changes.map(|one| one.denial.call.syscall.arch).collect();
        if of.len() < 2 {
            continue;
        }
        let machine = match groups.used().count() {
            1 => String::new(),
            _ => format!(" for {}", names(&of)),
        };
        text.push('\n');
        let changes = || changed(explained, groups, group);
        let left =
            |why| changes().filter(move |one| one.left_out(shown.with_dangerous) == Some(why));
        let count = changes().filter(|one| one.left_out(shown.with_dangerous).is_none()).count();
        let found = combined.iter().find(|one| one.arches.iter().any(|arch| of.contains(arch)));
        match found {
            _ if count == 0 => {}
            None => {
                let message = format!(
                    "the changes{machine} cannot be combined to one that is proved; --each prints a patch for each"
                );
                wrap(&mut text, &message, 0, 2);
            }
            Some(combined) => together(&mut text, combined, count, &machine),
        }
        let on_purpose = calls(left(LeftOut::OnPurpose));
        if !on_purpose.is_empty() {
            let message = format!("left out: {on_purpose}, where ENOSYS is the answer on purpose");
            wrap(&mut text, &message, 0, 2);
        }
        let dangerous = calls(left(LeftOut::Dangerous));
        if !dangerous.is_empty() {
            let message = format!("left out: {dangerous}, dangerous; --with-dangerous adds it");
            let message = match left(LeftOut::Dangerous).count() {
                1 => message,
                _ => message.replace("adds it", "adds them"),
            };
            wrap(&mut text, &message, 0, 2);
        }
    }
    text
}

/// The names of the syscalls of denials, each once.
fn calls<'e, 'r: 'e>(denials: impl Iterator<Item = &'e Explained<'r>>) -> String {
    let mut names: Vec<String> = Vec::new();
    for one in denials {
        let SyscallId { arch, nr } = one.denial.call.syscall;
        let name = syscall::name(Some(arch), nr);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    names.join(", ")
}

/// The change for several denials.
fn together(text: &mut String, combined: &Combined, count: usize, machine: &str) {
    let message = match (combined.count, count) {
        (1, 1) => {
            format!("the change{machine}, which is proved to allow this syscall and nothing else:")
        }
        (own, all) => {
            let scope = match own == all {
                true => format!("the {all} changes"),
                false => format!("{own} of {all} changes"),
            };
            format!(
                "{scope}{machine} together, which are proved to allow these syscalls and nothing else:"
            )
        }
    };
    wrap(text, &message, 0, 2);
    patch_lines(text, &combined.patch);
}

/// The distinct denials, a line each, if they are several.
fn table(text: &mut String, explained: &[Explained<'_>]) {
    /// The widest column of syscalls.
    const WIDEST: usize = 32;
    if explained.len() < 2 {
        return;
    }
    let rows: Vec<[String; 4]> = explained
        .iter()
        .map(|one| {
            let answer = &one.answer;
            let call = syscall::show(answer.arch, &answer.data);
            let SyscallId { arch, nr } = one.denial.call.syscall;
            let call = match call.chars().count() > WIDEST {
                true => format!("{}(…)", syscall::name(Some(arch), nr)),
                false => call,
            };
            let rule = answer.filters.first().map(rule_of).unwrap_or_default();
            let count = one.denial.count.to_string();
            [count, format!("{arch} {call}"), answer.verdict.to_string(), rule]
        })
        .collect();
    let heads = ["count", "syscall", "verdict", "rule"];
    let width = |column: usize, head: &str| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        cells.map(|cell| cell.chars().count()).chain([head.len()]).max().unwrap_or_default()
    };
    let [count, call, verdict, _] = heads;
    let widths = [width(0, count), width(1, call), width(2, verdict)];
    text.push('\n');
    let heads = heads.map(str::to_owned);
    for [count, call, verdict, rule] in [&heads].into_iter().chain(&rows) {
        let [first, second, third] = widths;
        text.push_str(&format!("{count:>first$}  {call:second$}  {verdict:third$}  {rule}\n"));
    }
}

/// The names of architectures, each once.
fn names(arches: &[Arch]) -> String {
    let mut names: Vec<&str> = arches.iter().map(|arch| arch.name()).collect();
    names.sort_unstable();
    names.dedup();
    names.join(", ")
}

/// The syscalls that a filter only logged.
pub(super) fn logged(text: &mut String, log: &DenialLog) {
    const MOST: usize = 20;
    if log.logged_calls.is_empty() {
        return;
    }
    text.push_str("\nlogged, not blocked:\n");
    for (id, count) in log.logged_calls.iter().take(MOST) {
        let name = syscall::name(Some(id.arch), id.nr);
        text.push_str(&format!("  {}: {} {name}\n", times(*count), id.arch));
    }
    if let Some(more) = log.logged_calls.len().checked_sub(MOST).filter(|more| *more > 0) {
        text.push_str(&format!("  … and {more} more\n"));
    }
    let next = "the filter returned LOG: the kernel ran these syscalls and wrote a record; callgate generate makes a profile from them";
    wrap(text, next, 0, 2);
}

/// The first lines that look like denials and could not be read.
pub(super) fn unread(text: &mut String, log: &DenialLog) {
    let Some(more) = log.unread.count.checked_sub(log.unread.lines.len() as u64) else { return };
    for one in &log.unread.lines {
        let shown = match one.text.as_str() {
            "" => String::new(),
            line => format!(": {}", printable(line)),
        };
        text.push_str("  ");
        wrap(text, &format!("line {} is not read: {}{shown}", one.line, printable(&one.why)), 2, 4);
    }
    if more > 0 {
        text.push_str(&format!("  … and {more} more\n"));
    }
}

/// What to do if there is no denial.
pub(super) fn after_none(text: &mut String, log: &DenialLog, outside: &BTreeMap<Arch, u64>) {
    if let Some(hint) = hints::after_none(log).filter(|_| outside.is_empty()) {
        wrap(text, &hint, 0, 2);
    }
}

/// The first names.
fn first_names(calls: &BTreeMap<&'static str, u64>) -> String {
    const MOST: usize = 8;
    let mut names: Vec<&str> = calls.keys().take(MOST).copied().collect();
    let more = calls.len().saturating_sub(MOST);
    let more_text = format!("{more} more");
    if more > 0 {
        names.push(&more_text);
    }
    names.join(", ")
}

/// Syscalls whose names the runtime may not know.
fn unknown_names(text: &mut String, groups: &Groups<'_>) {
    if groups.unknown.is_empty() {
        return;
    }
    text.push('\n');
    let names = first_names(&groups.unknown);
    let message = format!(
        "allowed here, but an older libseccomp may not know {names}: these failed with the default errno of the profile, because \
         libseccomp leaves out the names that it does not know; update libseccomp and the runtime{}",
        groups.known_since.and_then(|since| Some((since, since.previous()?))).map_or_else(
            String::new,
            |(since, before)| {
                format!(
                    ". libseccomp {since} knows {}; --libseccomp {before} reads the profile as the version before it does",
                    if groups.unknown.len() == 1 { "it" } else { "all of them" }
                )
            }
        )
    );
    wrap(text, &message, 0, 2);
}

/// Syscalls that failed as with an older runtime.
fn older_runtime(text: &mut String, groups: &Groups<'_>) {
    if groups.older.is_empty() {
        return;
    }
    text.push('\n');
    let message = format!(
        "{} failed with the errno that this profile returns under an older runtime: runc before 1.0.0-rc93 does not let syscalls fail \
         with ENOSYS that are newer than the profile, and libseccomp leaves out the names that it does not know; update the \
         runtime and libseccomp, or add the names to the profile; --enosys-above off shows the rules, --crun and --runc VERSION read \
         the profile as these runtimes do",
        first_names(&groups.older)
    );
    wrap(text, &message, 0, 2);
}

/// What a log contains; `arch` is the architecture of reports that do not name one.
pub(super) fn summary(arch: Arch, log: &DenialLog, outside: &BTreeMap<Arch, u64>) -> Vec<String> {
    let count: u64 = log.denials.iter().map(|denial| denial.count).sum();
    let distinct = log.denials.len() as u64;
    let mut parts = vec![match distinct {
        0 if log.unread.count > 0 => {
            format!("no denial could be read in {}", counted(log.lines, "line"))
        }
        0 if !log.other.is_empty() => {
            format!("no denial by seccomp in {}", counted(log.lines, "line"))
        }
        0 => format!("no denial in {}", counted(log.lines, "line")),
        _ => format!(
            "{} in {}, {distinct} distinct",
            counted(count, "denial"),
            counted(log.lines, "line")
        ),
    }];
    match log.unread.count {
        0 => {}
        1 => parts.push("1 line that looks like a denial could not be read".to_owned()),
        count => parts.push(format!("{count} lines that look like denials could not be read")),
    }
    if !log.other.is_empty() {
        let of = |one: &OtherDenials| {
            let (name, what) = (one.module.name(), printable(&one.what));
            format!(
                "{} by {name} (first in line {}: {what})",
                counted(one.count, "denial"),
                one.line
            )
        };
        parts.push(log.other.iter().map(of).collect::<Vec<String>>().join(", "));
    }
    if log.failed > 0 {
        let records = counted(log.failed, "record");
        parts.push(format!(
            "{records} of failed syscalls, which no filter denied: the kernel writes these for syscalls that the filters let through"
        ));
    }
    if log.assumed_arch > 0 {
        let reports = counted(log.assumed_arch, "report");
        parts.push(format!("{reports} without an architecture, read for {arch} (--arch)"));
    }
    if log.from_stacks > 0 {
        let denials = counted(log.from_stacks, "denial");
        parts.push(format!(
            "{denials} of which the innermost function of a stack tells the syscall; the kernel's record is surer"
        ));
    }
    if !outside.is_empty() {
        let count: u64 = outside.values().sum();
        let of: Vec<Arch> = outside.keys().copied().collect();
        let denials = counted(count, "denial");
        parts.push(format!("{denials} of {} outside of --arch", names(&of)));
    }
    if log.unselected > 0 {
        let denials = counted(log.unselected, "record");
        parts.push(format!("{denials} of other programs, or of which the log does not say whose they are (--program)"));
    }
    if log.logged > 0 {
        let records = counted(log.logged, "record");
        parts.push(format!("{records} of syscalls that were logged, not blocked"));
    }
    if let Some(lost) = &log.lost_records {
        parts.push(format!("incomplete: {}", lost.text));
    }
    if log.lost > 0 {
        let lost = counted(log.lost, "denial");
        parts.push(format!("{lost} not listed: the limit is {MAX_DENIALS} distinct denials"));
    }
    parts
}

/// How often a denial occurs, and in which programs.
pub(super) fn occurrence(denial: &Denial) -> String {
    let mut text = times(denial.count);
    let mut programs: Vec<String> = denial
        .programs
        .iter()
        .map(|(name, count)| match denial.programs.len() {
            1 if *count == denial.count => printable(name).to_string(),
            _ => format!("{} ({count})", printable(name)),
        })
        .collect();
    if denial.others > 0 {
        programs.push(format!("others ({})", denial.others));
    }
    if !programs.is_empty() {
        text.push_str(&format!(" by {}", programs.join(", ")));
    }
    match denial.call.evidence {
        Evidence::Filter => {}
        Evidence::Failed(_) => text.push_str(", failed with the errno that the filter returns"),
        Evidence::NoReturn => text.push_str(", without a result"),
    }
    text
}
