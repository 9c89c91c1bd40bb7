//! The summary before the list: counts, dangerous syscalls, and notes.

use std::fmt::Write;

use crate::Arch;
use crate::explain::{ArchExplanation, Explanation, Permission};
use crate::purposes::{AllowedDanger, allowed_dangers};

use super::layout::{Layout, syscalls};
use super::options::TextOptions;

/// The most reasons why allowed syscalls are dangerous that are listed.
const MAX_DANGERS: usize = 8;

/// The summary, or only the notes if the explanation is about some syscalls.
pub(super) fn text(
    explanation: &Explanation,
    options: &TextOptions<'_>,
    layout: &Layout,
) -> String {
    let mut text = String::new();
    if !options.is_partial {
        let _ = writeln!(text, "{}", layout.heading("summary"));
        for arch in &explanation.arches {
            let line = format!("{}: {}", arch.arch, counts(arch).join(", "));
            layout.line(&mut text, &line, 2, 4);
        }
        if let Some(conditions) = options.conditions {
            let line = format!("with the profile's conditions as for {conditions}");
            layout.line(&mut text, &line, 2, 4);
        }
        if let Some(assumed) = options.assumed {
            layout.line(&mut text, assumed, 2, 4);
        }
        dangers(&mut text, explanation, layout);
        let own = explanation.arches.first().and_then(lengths);
        if let Some(lengths) = options.lengths.or(own.as_deref()) {
            layout.line(&mut text, &format!("as a list: {lengths}"), 2, 4);
        }
        text.push('\n');
    }
    if !explanation.notes.is_empty() {
        let _ = writeln!(text, "{}", layout.heading("notes"));
        for note in &explanation.notes {
            layout.line(&mut text, &layout.unusual(note), 2, 4);
        }
        text.push('\n');
    }
    text
}

/// The lengths of both forms of a list, if the filter is a long one.
#[cfg(feature = "sources")]
fn lengths(arch: &ArchExplanation) -> Option<String> {
    crate::list_form::ListForm::lengths(arch).map(|(_, lengths)| lengths)
}

#[cfg(not(feature = "sources"))]
fn lengths(_: &ArchExplanation) -> Option<String> {
    None
}

/// How many syscalls have which permission: "306 syscalls allowed", "71 denied".
fn counts(arch: &ArchExplanation) -> Vec<String> {
    let mut counts = vec![format!("{} allowed", syscalls(arch.count(Permission::Always)))];
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

fn dangers(text: &mut String, explanation: &Explanation, layout: &Layout) {
    let dangers = allowed_dangers(explanation);
    if dangers.is_empty() {
        text.push_str("  no dangerous syscall is allowed\n");
        return;
    }
    text.push_str("  dangerous syscalls that are allowed:\n");
    let all: Vec<Arch> = explanation.arches.iter().map(|arch| arch.arch).collect();
    let (shown, more) = dangers.split_at(dangers.len().min(MAX_DANGERS));
    for danger in shown {
        let names = layout.unusual(&danger.syscalls.join(", "));
        let line = format!("{names}{}: {}", remark(danger, &all), danger.reason);
        layout.line(text, &line, 4, 6);
    }
    if !more.is_empty() {
        layout.line(text, &format!("also {}", names_of(more).join(", ")), 4, 6);
    }
}

/// For which arguments and architectures, if not for all: " (for some arguments, on x86)".
pub fn remark(danger: &AllowedDanger, all: &[Arch]) -> String {
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
pub fn names_of(dangers: &[AllowedDanger]) -> Vec<&'static str> {
    let mut names: Vec<&str> = Vec::new();
    for name in dangers.iter().flat_map(|danger| &danger.syscalls) {
        if !names.contains(name) {
            names.push(name);
        }
    }
    names
}
