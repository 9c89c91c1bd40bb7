//! Changes of profiles of LXC.

use std::fmt::Write;

use super::edit::Edit;
use super::input::Candidates;
use super::lines;

/// Edits, each of which may allow the syscall.
pub(super) fn edits(input: &Candidates<'_>) -> Vec<Vec<Edit>> {
    let text = input.text;
    let is_first_version = text.trim_start().starts_with('1');
    let denying = input.denying();
    let mut found = Vec::new();
    if !denying.is_empty() && input.wanted.args.is_empty() {
        let removed = denying.iter().map(|at| lines::without(text, lines::logical_line(text, *at)));
        found.push(removed.collect());
    }
    let Some(line) = line(input, is_first_version) else { return found };
    // Beside the others, and not at the end, where another architecture's section may be.
    let allowing = input.allowing();
    let mut sections = text.match_indices("\n[").map(|(at, _)| at);
    let first = allowing.first().copied().unwrap_or_default();
    let next_section = sections.find(|at| *at > first).unwrap_or(text.len());
    if let Some(at) = allowing.into_iter().rfind(|at| *at < next_section) {
        found.push(vec![lines::after(text, &lines::logical_line(text, at), &line)]);
    }
    found.push(vec![lines::at_end(text, &line)]);
    found
}

fn line(input: &Candidates<'_>, is_first_version: bool) -> Option<String> {
    let wanted = input.wanted;
    if is_first_version {
        let nr = wanted.arch.number(&wanted.name)?;
        return wanted.args.is_empty().then(|| nr.to_string());
    }
    let mut line = wanted.name.clone();
    if !wanted.args.is_empty() {
        line.push_str(" allow");
    }
    for (index, value) in &wanted.args {
        let _ = write!(line, " [{index},{value},SCMP_CMP_EQ]");
    }
    Some(line)
}
