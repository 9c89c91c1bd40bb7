//! The summary before the list: counts, dangerous syscalls, and notes.

use std::fmt::Write;

use anstyle::Style;
use callgate::Arch;
use callgate::explain::{ArchExplanation, Permission};
use callgate::purposes::{AllowedDanger, allowed_dangers};

use super::explained::{Explained, note};
use crate::list_form;
use crate::outcome::UNUSUAL;
use crate::output::wrap;
use crate::text::counted;

/// The most reasons why allowed syscalls are dangerous that are listed.
pub(super) const MAX_DANGERS: usize = 8;

/// Precedes the options for the conditions of a profile.
pub(super) const CONDITIONS: &str = "with the profile's conditions as for";

const HEADING: Style = Style::new().bold();

/// The summary, or only the notes if the explanation is about some syscalls.
pub(super) fn text(explained: &Explained<'_>) -> String {
    let mut text = String::new();
    if explained.is_whole {
        let _ = writeln!(text, "{HEADING}summary{HEADING:#}");
        let arches = &explained.explanation.arches;
        for arch in arches {
            text.push_str("  ");
            wrap(&mut text, &format!("{}: {}", arch.arch, counts(arch).join(", ")), 2, 4);
        }
        if let Some(conditions) = &explained.conditions {
            text.push_str("  ");
            wrap(&mut text, &format!("{CONDITIONS} {conditions}"), 2, 4);
        }
        dangers(&mut text, explained);
        if let Some(lengths) = arches.first().and_then(list_form::lengths) {
            text.push_str("  ");
            wrap(&mut text, &format!("as a list: {lengths}"), 2, 4);
        }
        text.push('\n');
    }
    if !explained.notes.is_empty() {
        let _ = writeln!(text, "{HEADING}notes{HEADING:#}");
        for finding in &explained.notes {
            let line = note(finding);
            text.push_str("  ");
            wrap(&mut text, &format!("{UNUSUAL}{line}{UNUSUAL:#}"), 2, 4);
        }
        text.push('\n');
    }
    text
}

/// How many syscalls have which permission: "306 syscalls allowed", "71 denied".
fn counts(arch: &ArchExplanation) -> Vec<String> {
    let mut counts =
        vec![format!("{} allowed", counted(arch.count(Permission::Always) as u64, "syscall"))];
    for (permission, what) in [
        (Permission::Sometimes, "conditionally allowed"),
        (Permission::Delegated, "decided by another process"),
        (Permission::Never, "denied"),
    ] {
        let count = arch.count(permission);
        if count > 0 || permission == Permission::Never {
            counts.push(format!("{count} {what}"));
        }
    }
    counts
}

fn dangers(text: &mut String, explained: &Explained<'_>) {
    let dangers = allowed_dangers(&explained.explanation);
    if dangers.is_empty() {
        text.push_str("  no dangerous syscall is allowed\n");
        return;
    }
    text.push_str("  dangerous syscalls that are allowed:\n");
    let all: Vec<Arch> = explained.explanation.arches.iter().map(|arch| arch.arch).collect();
    let (shown, more) = dangers.split_at(dangers.len().min(MAX_DANGERS));
    for danger in shown {
        let names = danger.syscalls.join(", ");
        let line =
            format!("{UNUSUAL}{names}{UNUSUAL:#}{}: {}", remark(danger, &all), danger.reason);
        text.push_str("    ");
        wrap(text, &line, 4, 6);
    }
    if !more.is_empty() {
        text.push_str("    ");
        wrap(text, &format!("also {}", names_of(more).join(", ")), 4, 6);
    }
}

/// For which arguments and architectures, if not for all: " (for some arguments, on x86)".
pub(super) fn remark(danger: &AllowedDanger, all: &[Arch]) -> String {
    let mut remarks = Vec::new();
    if danger.is_partial {
        remarks.push("for some arguments".to_owned());
    }
    if danger.arches.len() < all.len() {
        let names: Vec<&str> = danger.arches.iter().map(|arch| arch.name()).collect();
        remarks.push(format!("on {}", names.join(", ")));
    }
    if remarks.is_empty() { String::new() } else { format!(" ({})", remarks.join(", ")) }
}

/// The names of syscalls that are dangerous for several reasons, without repetitions.
pub(super) fn names_of(dangers: &[AllowedDanger]) -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for name in dangers.iter().flat_map(|danger| &danger.syscalls) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    names
}
