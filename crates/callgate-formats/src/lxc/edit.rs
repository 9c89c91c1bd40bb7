//! Changes of profiles of LXC.

use callgate_bpf::SyscallTable;
use std::fmt::Write;

use crate::change::allowed::Compared;
use crate::change::edit::Edit;
use crate::change::input::Input;
use crate::change::lines;

/// Edits, each of which may allow the syscall.
pub(crate) fn edits(input: &Input<'_>) -> Vec<Vec<Edit>> {
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
    if let Some(at) = allowing.range(..next_section).next_back().copied() {
        found.push(vec![lines::after(text, &lines::logical_line(text, at), &line)]);
    }
    found.push(vec![lines::at_end(text, &line)]);
    found
}

fn line(input: &Input<'_>, is_first_version: bool) -> Option<String> {
    let wanted = input.wanted;
    if is_first_version {
        let nr = wanted.arch.number(&wanted.name)?;
        return wanted.args.is_empty().then(|| nr.to_string());
    }
    let mut line = wanted.name.clone();
    if !wanted.args.is_empty() {
        line.push_str(" allow");
    }
    for Compared { index, value, is_low, .. } in wanted.compared() {
        let _ = match is_low {
            true => write!(line, " [{index},{value},SCMP_CMP_MASKED_EQ,{:#x}]", u32::MAX),
            false => write!(line, " [{index},{value},SCMP_CMP_EQ]"),
        };
    }
    Some(line)
}
