//! Why a filter denied what a log says, and the smallest change that allows it.

use callgate::purposes::{Danger, Purpose, danger};
use callgate::{Arch, SeccompData, Verdict};
use callgate_core::diagram::{Func, Store};
use callgate_requests::fallback::on_purpose;
use callgate_requests::kernel_checks::elsewhere;
use callgate_requests::logged::{Relevance, action, data, explains, find};
use callgate_requests::source::{FilterContent, Messages, SourceFilter};
use callgate_requests::syscall;
use callgate_trace::denials::{Denial, DenialLog, DenialReader, Evidence, LoggedCall};

use super::change::{MOST_CHANGES, allow, is_same_action};
use super::filter::Shown;
use super::simulate::reason;
use crate::describe::chip_with;
use crate::web::analysis::Analysis;
use crate::{Markup, Section, chip, counted};

/// The most denials that are shown.
const MOST: usize = 50;

/// Up to this many lines are what somebody copied out of a log, and not a log: lines in words of their own are read, too.
const FEW_LINES: usize = 5;

/// Reads the denials of a text.
fn log_of(text: &str, arch: Arch, relevant: impl FnMut(&LoggedCall) -> Option<u8>) -> DenialLog {
    let mut reader = DenialReader::new(arch, relevant);
    if text.trim_end().lines().count() <= FEW_LINES {
        reader = reader.given();
    }
    // Without its end, the last line is taken for a truncated one.
    reader.push(format!("{}\n", text.trim_end()).as_bytes());
    reader.finish()
}

/// Whether a text is a log with denials, or one of failed syscalls. With `in_words` also if it reports one without the syscall, as a
/// comment in a program may.
pub(crate) fn is_log(text: &str, arch: Arch, in_words: bool) -> bool {
    let mut has_failures = false;
    let log = log_of(text, arch, |call| {
        has_failures |= call.evidence != Evidence::Filter;
        (call.evidence == Evidence::Filter).then_some(u8::MAX)
    });
    let is_comment = |text: &str| [";", "#", "//"].iter().any(|sign| text.starts_with(sign));
    let mut words = log.unread.lines.iter().filter(|line| !is_comment(line.text.trim_start()));
    !log.denials.is_empty() || has_failures || (in_words && words.next().is_some())
}

/// The denials of a log without the filter.
pub(crate) fn denials(text: &str, arch: Arch) -> Shown {
    let mut failures: Vec<(LoggedCall, u64)> = Vec::new();
    let log = log_of(text, arch, |call| match call.evidence {
        Evidence::Filter => Some(u8::MAX),
        _ => {
            failed(&mut failures, call);
            None
        }
    });
    let status = match log.denials.len() {
        0 if failures.is_empty() => nothing(&log),
        0 => "No record of a denial, but syscalls failed, perhaps because of a filter.".to_owned(),
        count => format!("{} in the log.", counted(count, "denied syscall")),
    };
    let section = Section::new("denied", "Denied syscalls", |body| {
        body.headline(&status);
        remarks(body, &log);
        for denial in log.denials.iter().take(MOST) {
            body.element("div", &[("class", "denial")], |item| {
                title(item, denial);
                denied_by(item, denial);
                purposes(item, &denial.call);
            });
        }
        rest(body, log.denials.len());
        of_failures(body, &failures);
        if log.denials.is_empty() && failures.is_empty() {
            what_to_paste(body, &log);
        } else {
            body.quiet("Paste the filter into the first field for the rule that denies it and a change that allows it. A name such as \
                        docker-default is enough for a built-in profile.");
        }
    });
    Shown { status, ..Shown::of(vec![section]) }
}

/// The same with the filter.
///
/// # Errors
/// If a syscall cannot be decided.
pub(crate) fn denied(mut analysis: Analysis<'_>, text: &str) -> Result<Shown, Messages> {
    let mut diagram = (std::mem::take(&mut analysis.store), analysis.root);
    let machine = analysis.source.reading.machine;
    let first = analysis.arches.first().copied().unwrap_or(machine);
    let mut relevance = Relevance::default();
    let log = log_of(text, first, |call| relevance.of(&diagram, call));
    let mut changes = Vec::new();
    let status = match log.denials.len() {
        0 => nothing(&log),
        count => format!("{} in the log.", counted(count, "denied syscall")),
    };
    let section = Section::new("denied", "Why it was denied", |body| {
        body.headline(&status);
        remarks(body, &log);
        for (at, denial) in log.denials.iter().take(MOST).enumerate() {
            body.element("div", &[("class", "denial")], |item| {
                title(item, denial);
                purposes(item, &denial.call);
                let call = example(denial, &diagram);
                let Ok(verdict) = diagram.0.evaluate(diagram.1, &call) else { return };
                if verdict.permits() {
                    item.element("p", &[], |line| {
                        line.text("This filter allows it: ");
                        line.append(&chip(verdict));
                        line.text(" Another filter denied it, or this one has changed since.");
                    });
                    return;
                }
                reasons(item, denial, &call, verdict, &analysis);
                let id = denial.call.syscall;
                if let Some(why) =
                    id.name().and_then(|name| on_purpose(Some(id.arch), name, verdict))
                {
                    item.paragraph(&format!("{why}. For a program without a fallback:"));
                }
                if at >= MOST_CHANGES {
                    return;
                }
                allow(
                    item,
                    &denial.call,
                    &denial.verdicts,
                    &call,
                    &mut diagram,
                    (&analysis, &mut changes),
                );
            });
        }
        rest(body, log.denials.len());
        what_to_paste(body, &log);
    });
    Ok(Shown { status, changes, ..Shown::of(vec![section]) })
}

/// Counts a syscall that failed with an error that filters usually return.
fn failed(failures: &mut Vec<(LoggedCall, u64)>, call: &LoggedCall) {
    const EPERM: u16 = 1;
    const EACCES: u16 = 13;
    let Evidence::Failed(errno) = call.evidence else { return };
    let syscall = call.syscall;
    if ![EPERM, EACCES, syscall.arch.enosys()].contains(&errno) {
        return;
    }
    let is_same = |(other, _): &(LoggedCall, u64)| {
        other.syscall == syscall && other.evidence == call.evidence
    };
    let has_room = failures.len() < MOST;
    let known = failures.iter().position(is_same);
    if let Some((_, count)) = known.and_then(|at| failures.get_mut(at)) {
        *count += 1;
    } else if has_room {
        failures.push((LoggedCall { args: [None; 6], ..*call }, 1));
    }
}

/// What a log says that has no denials.
fn nothing(log: &DenialLog) -> String {
    if let Some(failed) = &log.not_installed {
        return format!("No denial. Line {}: {}: {}", failed.line, failed.why, failed.text);
    }
    match (log.unread.count, log.is_recognized) {
        (0, true) => "The log has no denial by this kind of filter.".to_owned(),
        (0, false) => "Nothing was recognized: no audit record, no line of the kernel's log, no syscall of strace, no report of a \
                       denial."
            .to_owned(),
        (count, _) => format!("{} like denials, but could not be read.", match count {
            1 => "1 line looks".to_owned(),
            count => format!("{count} lines look"),
        }),
    }
}

/// What else the log says: lines that cannot be read, and denials by others than filters.
fn remarks(body: &mut Markup, log: &DenialLog) {
    if log.unread.lines.is_empty() && log.other.is_empty() {
        return;
    }
    body.element("ul", &[], |list| {
        for line in &log.unread.lines {
            let why = line.why.replace("callgate why SOURCE ", "with the filter, Simulate of ");
            list.leaf("li", &[], &format!("Line {}: {why}: {}", line.line, line.text));
        }
        for other in &log.other {
            let (module, count, line) = (other.module.name(), other.count, other.line);
            let times = if count == 1 { "once".to_owned() } else { format!("{count} times") };
            let text = format!(
                "{module} denied {} {times}, first in line {line}. No filter is the reason.",
                other.what
            );
            list.leaf("li", &[], &text);
        }
    });
}

/// For a text that does not name the syscall: what does.
fn what_to_paste(body: &mut Markup, log: &DenialLog) {
    let is_other = |why: &str| why.starts_with("no filter denied") || why.starts_with("gVisor");
    let first = log.unread.lines.first();
    let is_answered = log.not_installed.is_some()
        || !log.other.is_empty()
        || first.map_or(log.is_recognized, |line| is_other(&line.why));
    if !log.denials.is_empty() || is_answered {
        return;
    }
    body.paragraph("What names the syscall, if you paste it here:");
    body.element("ul", &[], |list| {
        for source in [
            "the kernel's record of a process that was killed: `journalctl -k --grep type=1326` prints it, or `ausearch -m SECCOMP` \
             where auditd runs",
            "for an error such as \"Operation not permitted\", which has no record: the last lines of `strace -f PROGRAM`",
        ] {
            list.element("li", &[], |item| item.prose(source));
        }
    });
}

fn rest(body: &mut Markup, count: usize) {
    if let Some(more @ 1..) = count.checked_sub(MOST) {
        body.paragraph(&format!("{} left out, which are rarer.", counted(more, "more syscall")));
    }
}

/// The syscall, how often, by whom, and what the filter did.
fn title(item: &mut Markup, denial: &Denial) {
    let id = denial.call.syscall;
    item.element("h3", &[], |line| {
        line.leaf(
            "code",
            &[],
            &format!("{} {}", id.arch, syscall::show(Some(id.arch), &data(&denial.call))),
        );
        for (verdict, _) in &denial.verdicts {
            line.text(" ");
            line.append(&chip_with(*verdict, action(*verdict)));
        }
    });
    let times =
        if denial.count == 1 { "once".to_owned() } else { format!("{} times", denial.count) };
    let programs: Vec<&str> = denial.programs.iter().map(|(name, _)| name.as_str()).collect();
    let by =
        if programs.is_empty() { String::new() } else { format!(" to {}", programs.join(", ")) };
    item.quiet(&format!("Denied {times}{by}."));
}

/// Whose filter it may have been.
fn denied_by(item: &mut Markup, denial: &Denial) {
    let who = match denial.programs.as_slice() {
        [(name, _)] => name.as_str(),
        _ => "the program",
    };
    item.paragraph(&format!(
        "A filter of {who}, or of the service manager or container runtime that started it, denied it."
    ));
}

/// What a syscall is for, and whether it is dangerous.
fn purposes(item: &mut Markup, call: &LoggedCall) {
    let Some(name) = call.syscall.name() else { return };
    if let Some(purpose) = Purpose::of(name) {
        item.paragraph(&format!(
            "{}: with such syscalls, a process can {}.",
            purpose.title(),
            purpose.description()
        ));
    }
    let is_given = |danger: &Danger| danger.is_given(&call.args, call.syscall.arch);
    if let Some(danger) = danger(name).filter(|danger| is_given(danger) != Some(false)) {
        item.element("p", &[], |line| {
            let is_certain = is_given(danger) == Some(true);
            line.span(
                "chip killed",
                if is_certain { "dangerous" } else { "dangerous with some arguments" },
            );
            line.text(&format!(" {} {}.", name, danger.reason));
        });
    }
}

fn of_failures(body: &mut Markup, failures: &[(LoggedCall, u64)]) {
    if failures.is_empty() {
        return;
    }
    body.leaf("h3", &[], "Perhaps denied by a filter");
    body.element("ul", &[], |list| {
        for (call, count) in failures {
            let Evidence::Failed(errno) = call.evidence else { continue };
            let arch = call.syscall.arch;
            let name = syscall::name(Some(arch), call.syscall.nr);
            list.element("li", &[], |item| {
                item.leaf("code", &[], &format!("{arch} {name}"));
                item.text(" ");
                item.append(&chip(Verdict::errno(errno)));
                if *count > 1 {
                    item.text(&format!(" {count} times"));
                }
                if let Some(why) = elsewhere(&name, errno, arch.enosys()) {
                    item.element("div", &[], |line| {
                        line.text(&format!("The error may also come from {why}."))
                    });
                }
            });
        }
    });
}

/// A syscall with the logged arguments that the filter denies, with the action of the log if it has one; otherwise the syscall.
fn example(denial: &Denial, diagram: &(Store, Func)) -> SeccompData {
    let call = &denial.call;
    let mut logged = denial.verdicts.iter();
    let example =
        logged.find_map(|(logged, _)| find(diagram, call, |own| is_same_action(own, *logged)));
    let example = example.or_else(|| find(diagram, call, |own| explains(call.evidence, own)));
    let example = example.or_else(|| find(diagram, call, |own| !own.permits()));
    example.unwrap_or_else(|| data(call))
}

/// The verdict of the filter, and the rules.
fn reasons(
    item: &mut Markup,
    denial: &Denial,
    call: &SeccompData,
    verdict: Verdict,
    analysis: &Analysis<'_>,
) {
    item.element("p", &[], |line| {
        line.text("This filter returns ");
        line.append(&chip(verdict));
        line.text(".");
    });
    let is_foreign = |(logged, _): &(Verdict, u64)| !is_same_action(*logged, verdict);
    if !denial.verdicts.is_empty() && denial.verdicts.iter().all(is_foreign) {
        item.paragraph("The log has another action, so another filter denied it, or this one has changed since.");
    }
    let arch = denial.call.syscall.arch;
    let is_alone = analysis.stack.filters.len() == 1;
    let decides = |filter: &&SourceFilter| match &filter.content {
        FilterContent::Policy(policy) => policy.evaluate(call) == verdict,
        FilterContent::Program(..) => true,
    };
    item.element("ul", &[], |list| {
        for filter in analysis.stack.filters.iter().filter(decides) {
            reason(list, filter, call, arch, (&analysis.source.name, is_alone));
        }
    });
}
