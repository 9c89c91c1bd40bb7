//! Changes of policies of minijail.

use crate::change::allowed::Compared;
use crate::change::edit::Edit;
use crate::change::input::{Input, number};
use crate::change::lines;

/// Edits, each of which may allow the syscall.
pub(crate) fn edits(input: &Input<'_>) -> Vec<Vec<Edit>> {
    let (text, wanted) = (input.text, input.wanted);
    let tests = wanted.compared().map(test).collect::<Vec<_>>().join(" && ");
    let condition = if wanted.args.is_empty() { "1" } else { &tests };
    let line = format!("{}: {condition}", wanted.name);
    let mut found = Vec::new();
    // A line about the syscall, of which there may be only one.
    for at in input.denying().into_iter().chain(input.unmet()) {
        let range = lines::logical_line(text, at);
        let old = text.get(range.clone()).unwrap_or_default();
        let is_own = old.split(':').next().is_some_and(|name| name.trim() == wanted.name);
        if !is_own {
            continue;
        }
        let is_plain = !old.contains(['#', ';', '\\']) && !old.contains("return");
        if is_plain && !wanted.args.is_empty() {
            let end = range.start + old.trim_end().len();
            found.push(vec![Edit::insert(end, format!(" || {tests}"))]);
        }
        found.push(vec![Edit::replace(range.start, range.end, line.clone())]);
        if wanted.args.is_empty() {
            found.push(vec![lines::without(text, range)]);
        }
    }
    if let Some(at) = input.allowing().pop_last() {
        found.push(vec![lines::after(text, &lines::logical_line(text, at), &line)]);
    }
    found.push(vec![lines::at_end(text, &line)]);
    found
}

/// A test of an argument. Its lower half has no operator for equality: no other bits are set (`in`), and each one is (`&`).
fn test(Compared { index, value, is_low, .. }: Compared) -> String {
    if !is_low {
        return format!("arg{index} == {}", number(value));
    }
    let mut test = format!("arg{index} in {:#x}", value | !u64::from(u32::MAX));
    for bit in (0..32).map(|bit| 1_u64 << bit).filter(|bit| value & bit != 0) {
        test.push_str(&format!(" && arg{index} & {bit:#x}"));
    }
    test
}
