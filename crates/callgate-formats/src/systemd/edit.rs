//! Changes of unit files of systemd and of values of `SystemCallFilter=`.

use callgate_bpf::constants::Family;

use super::roles::VALUES;
use crate::change::allowed::Allowed;
use crate::change::edit::Edit;
use crate::change::input::Input;
use crate::change::lines;

/// The syscall with the arguments that a directive can compare: the family of a socket, as a whole register.
pub(crate) fn comparable(wanted: &Allowed) -> Allowed {
    let mut allowed = Allowed { zero_upper: true, ..wanted.clone() };
    allowed.args.retain(|(index, _)| wanted.name == "socket" && *index == 0);
    allowed
}

/// Edits, each of which may allow the syscall.
pub(crate) fn edits(input: &Input<'_>) -> Vec<Vec<Edit>> {
    match input.role {
        VALUES => filter(input),
        _ => unit(input),
    }
}

/// Edits of a unit file.
fn unit(input: &Input<'_>) -> Vec<Vec<Edit>> {
    let (text, wanted) = (input.text, input.wanted);
    let mut found = Vec::new();
    if wanted.args.is_empty() {
        // In a list of what is denied, a value without ~ removes from it.
        found.extend(add(text, "SystemCallFilter", &wanted.name));
    } else if let ("socket", [(0, family)]) = (&*wanted.name, wanted.args.as_slice()) {
        let family =
            Family::of(wanted.arch, "socket", 0).and_then(|one| one.name(wanted.arch, *family));
        if let Some(family) = family {
            found.extend(add(text, "RestrictAddressFamilies", &family));
        }
    }
    found
}

/// A line after the last one with a directive.
fn add(text: &str, directive: &str, value: &str) -> Option<Vec<Edit>> {
    let mut last = None;
    let mut at = 0;
    while at < text.len() {
        let line = lines::logical_line(text, at);
        let content = text.get(line.clone()).unwrap_or_default().trim_start();
        if content.strip_prefix(directive).is_some_and(|rest| rest.trim_start().starts_with('=')) {
            last = Some(line.clone());
        }
        at = line.end + 1;
    }
    Some(vec![lines::after(text, &last?, &format!("{directive}={value}"))])
}

/// Edits of values.
fn filter(input: &Input<'_>) -> Vec<Vec<Edit>> {
    let (text, name) = (input.text, &input.wanted.name);
    if !input.wanted.args.is_empty() {
        return Vec::new();
    }
    let end = text.trim_end().len();
    let value = format!(" {name}");
    let mut found = vec![vec![Edit::insert(end, value)]];
    let mut denying = input.denying();
    if let (Some(at), true) = (denying.pop_first(), denying.is_empty()) {
        let word = text.get(at..).unwrap_or_default().split_whitespace().next();
        if let Some(word) = word.filter(|word| *word == name) {
            let rest = text.get(at + word.len()..).unwrap_or_default();
            let blanks = rest.len() - rest.trim_start().len();
            found.push(vec![Edit::remove(at, at + word.len() + blanks)]);
        }
    }
    found
}
