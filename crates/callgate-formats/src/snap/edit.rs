//! Changes of profiles of snaps.

use std::fmt::Write;

use crate::change::allowed::Compared;
use crate::change::edit::Edit;
use crate::change::input::Input;
use crate::change::lines;

/// Edits, each of which may allow the syscall.
pub(crate) fn edits(input: &Input<'_>) -> Vec<Vec<Edit>> {
    let removed: Vec<Edit> = input
        .denying()
        .into_iter()
        .map(|at| lines::without(input.text, lines::logical_line(input.text, at)))
        .collect();
    let mut found = Vec::new();
    if !removed.is_empty() {
        found.push(removed.clone());
    }
    // Syscalls that take -1 have operands of 32 bits, and no masks.
    let forms: [fn(u64) -> String; 3] = [
        |value| format!("{}|{value}", u32::MAX),
        |value| value.to_string(),
        |value| (value as i32).to_string(),
    ];
    let is_any_low = input.wanted.compared().any(|compared| compared.is_low);
    for form in forms.iter().take(if is_any_low { forms.len() } else { 1 }) {
        let added = lines::at_end(input.text, &line(input, form));
        found.push(removed.iter().cloned().chain([added]).collect());
    }
    found
}

/// A line for the syscall; `low` writes a value of 32 bits.
fn line(input: &Input<'_>, low: &dyn Fn(u64) -> String) -> String {
    let mut line = input.wanted.name.clone();
    let mut next = 0;
    for Compared { index, value, is_low, .. } in input.wanted.compared() {
        (next..index).for_each(|_| line.push_str(" -"));
        let value = if is_low { low(value) } else { value.to_string() };
        let _ = write!(line, " {value}");
        next = index + 1;
    }
    line
}
