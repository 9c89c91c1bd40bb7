//! Changes of Kafel policies.

use crate::change::input::{Edit, EditInput, number};
use crate::change::verify::Compared;

/// Edits, each of which may allow the syscall.
pub(crate) fn edits(input: &EditInput<'_>) -> Vec<Vec<Edit>> {
    let text = input.text;
    let rule = rule(input);
    let mut found = Vec::new();
    // The first rule that applies decides, so a new one stands in front.
    let in_front = vec![Edit::insert(start(text), format!("ALLOW {{ {rule} }}\n"))];
    let removed: Option<Vec<Edit>> =
        input.denying().into_iter().map(|at| without(text, at)).collect();
    let added = input.allowing().pop_first().and_then(|first| append(text, first, &rule));
    if let Some(removed) = removed.filter(|removed| !removed.is_empty()) {
        if input.wanted.args.is_empty() {
            found.push(removed.clone());
            found.extend(added.iter().map(|edit| removed.iter().chain([edit]).cloned().collect()));
        }
    }
    found.extend(added.map(|edit| vec![edit]));
    found.push(in_front);
    found
}

/// A rule; the names of arguments are its own.
fn rule(input: &EditInput<'_>) -> String {
    let (name, args) = (&input.wanted.name, &input.wanted.args);
    let Some(last) = args.iter().map(|(index, _)| *index).max() else { return name.clone() };
    let names: Vec<String> = (0..=last).map(|index| format!("arg{index}")).collect();
    let test = |Compared { index, value, is_low, .. }| match is_low {
        true => format!("(arg{index} & {:#x}) == {}", u32::MAX, number(value)),
        false => format!("arg{index} == {}", number(value)),
    };
    let tests: Vec<String> = input.wanted.compared().map(test).collect();
    format!("{name}({}) {{ {} }}", names.join(", "), tests.join(" && "))
}

/// After the comments and directives at the start of a text.
fn start(text: &str) -> usize {
    let mut at = 0;
    for line in text.split_inclusive('\n') {
        let trimmed = line.trim();
        if !(trimmed.is_empty() || trimmed.starts_with("//") || trimmed.starts_with('#')) {
            break;
        }
        at += line.len();
    }
    at
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_'
}

/// The end of the name at this offset.
fn end_of_name(text: &str, at: usize) -> usize {
    let rest = text.get(at..).unwrap_or_default();
    at + rest.find(|c| !is_name(c)).unwrap_or(rest.len())
}

/// Appends to the names that follow one in a block.
fn append(text: &str, first: usize, rule: &str) -> Option<Edit> {
    let (mut end, mut separator) = (end_of_name(text, first), None);
    loop {
        let rest = text.get(end..)?;
        let blanks =
            rest.len() - rest.trim_start_matches(|c: char| c.is_whitespace() || c == ',').len();
        let (next, after) = (end + blanks, end_of_name(text, end + blanks));
        // A name with a condition or a comment follows, or the end of the block.
        let is_plain = |after: usize| {
            let rest = text.get(after..).unwrap_or_default().trim_start();
            rest.starts_with([',', '}'])
        };
        let between = text.get(end..next)?;
        if after == next || !between.contains(',') || !is_plain(after) {
            break;
        }
        (separator, end) = (Some(between), after);
    }
    Some(Edit::insert(end, format!("{}{rule}", separator.unwrap_or(", "))))
}

/// Removes a name with one of the commas beside it, or the block if it has no other.
fn without(text: &str, at: usize) -> Option<Edit> {
    let end = end_of_name(text, at);
    let (before, after) = (text.get(..at)?, text.get(end..)?);
    let kept = before.trim_end();
    let trimmed = after.trim_start();
    if let Some(rest) = trimmed.strip_prefix(',') {
        let rest = rest.trim_start();
        return Some(Edit::remove(at, text.len() - rest.len()));
    }
    if !trimmed.starts_with('}') {
        return None;
    }
    if let Some(kept) = kept.strip_suffix(',') {
        return Some(Edit::remove(kept.len(), end));
    }
    // The only one: with its action, and with the comma behind the block or the one before it.
    let block = kept.strip_suffix('{')?.trim_end();
    let action = block.strip_suffix(')').and_then(|call| Some(call.rsplit_once('(')?.0));
    let action = action.unwrap_or(block).trim_end().trim_end_matches(is_name);
    let end = text.len() - trimmed.len() + 1;
    let rest = text.get(end..)?.trim_start();
    let (start, end) = match (rest.strip_prefix(','), action.trim_end().strip_suffix(',')) {
        (Some(rest), _) => (action.len(), text.len() - rest.len()),
        (None, Some(before)) => (before.len(), end),
        (None, None) => (action.len(), end),
    };
    // Without the line, if nothing else is in it.
    let line = text.get(..start)?.trim_end_matches([' ', '\t']);
    let after = text.get(end..)?.trim_start_matches([' ', '\t']);
    match after.strip_prefix('\n').filter(|_| line.is_empty() || line.ends_with('\n')) {
        Some(after) => Some(Edit::remove(line.len(), text.len() - after.len())),
        None => Some(Edit::remove(start, end)),
    }
}
