//! Changes of profiles of snaps.

use std::fmt::Write;

use super::edit::Edit;
use super::input::Candidates;
use super::lines;

/// Edits, each of which may allow the syscall.
pub(super) fn edits(input: &Candidates<'_>) -> Vec<Vec<Edit>> {
    let mut line = input.wanted.name.clone();
    let mut next = 0;
    for (index, value) in &input.wanted.args {
        (next..*index).for_each(|_| line.push_str(" -"));
        let _ = write!(line, " {value}");
        next = index + 1;
    }
    let added = lines::at_end(input.text, &line);
    let removed: Vec<Edit> = input
        .denying()
        .into_iter()
        .map(|at| lines::without(input.text, lines::logical_line(input.text, at)))
        .collect();
    match removed.is_empty() {
        true => vec![vec![added]],
        false => vec![removed.clone(), removed.into_iter().chain([added]).collect()],
    }
}
