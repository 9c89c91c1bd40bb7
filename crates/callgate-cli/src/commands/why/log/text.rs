//! Denials as text.

use callgate::denials::{Denial, DenialLog, Evidence, MAX_DENIALS};

use super::super::patch_text::patch_lines;
use super::super::text::{advice, answer};
use super::explained::{Combined, Explained, MAX_CHANGES};
use crate::output::wrap;
use crate::text::{counted, printable, times};

/// What a log contains, and each denial with its reason.
pub(super) fn log(
    name: &str,
    log: &DenialLog,
    unrelated: u64,
    explained: &[Explained<'_>],
    combined: Option<&Combined>,
) -> String {
    let mut text = String::new();
    wrap(&mut text, &format!("{}: {}", printable(name), summary(log, unrelated)), 0, 2);
    for one in explained {
        text.push('\n');
        let example =
            if has_example(one) { "; the log has no arguments, these are an example" } else { "" };
        wrap(&mut text, &format!("{}{example}:", occurrence(&one.denial)), 0, 2);
        text.push_str(&answer(&one.answer));
        if one.answer.verdict.permits() {
            let message = "the filter allows it: the filter has changed since, or another filter denied the call";
            wrap(&mut text, message, 0, 2);
        }
        if let Some(found) = &one.advice {
            text.push_str(&advice(found));
        }
    }
    if explained.len() > MAX_CHANGES {
        text.push('\n');
        let message =
            format!("changes were searched for the {MAX_CHANGES} most frequent denials only");
        wrap(&mut text, &message, 0, 2);
    }
    // A single change was shown with its denial.
    let changes = explained.iter().filter_map(|one| one.advice.as_ref());
    let count = changes.filter(|advice| advice.change.is_ok()).count();
    match combined {
        Some(combined) if count > 1 => {
            text.push('\n');
            let scope = match combined.count == count {
                true => format!("the {count} changes"),
                false => format!("{} of {count} changes", combined.count),
            };
            let message = format!(
                "{scope} together, which are proved to allow these syscalls and nothing else:"
            );
            wrap(&mut text, &message, 0, 2);
            patch_lines(&mut text, &combined.patch);
        }
        None if count > 1 => {
            text.push('\n');
            wrap(&mut text, "the changes cannot be combined to one that is proved", 0, 2);
        }
        _ => {}
    }
    text
}

/// Whether the arguments that are shown are not those of the log.
fn has_example(one: &Explained<'_>) -> bool {
    let mut args = one.answer.data.args.iter().zip(one.denial.call.args);
    args.any(|(shown, known)| known.is_none() && *shown != 0)
}

fn summary(log: &DenialLog, unrelated: u64) -> String {
    let count: u64 = log.denials.iter().map(|denial| denial.count).sum();
    let distinct = log.denials.len() as u64;
    let mut parts = vec![match distinct {
        0 => format!("no denial in {}", counted(log.lines, "line")),
        _ => format!(
            "{} in {}, {distinct} distinct",
            counted(count, "denial"),
            counted(log.lines, "line")
        ),
    }];
    if log.unread.count > 0 {
        let first = log
            .unread
            .first
            .as_ref()
            .map(|(line, why)| format!(" (the first is in line {line}: {})", printable(why)));
        let records = counted(log.unread.count, "record");
        parts.push(format!("{records} could not be read{}", first.unwrap_or_default()));
    }
    if log.logged > 0 {
        parts.push(format!("{} of executed syscalls", counted(log.logged, "record")));
    }
    if unrelated > 0 {
        parts.push(format!("{} failed, but not by this filter", counted(unrelated, "syscall")));
    }
    if log.lost > 0 {
        let lost = counted(log.lost, "denial");
        parts.push(format!("{lost} not listed: the limit is {MAX_DENIALS} distinct denials"));
    }
    parts.join("; ")
}

/// How often a denial occurs, and in which programs.
fn occurrence(denial: &Denial) -> String {
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
