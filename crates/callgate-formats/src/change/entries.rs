//! Items of lists in JSON and YAML.

use std::collections::BTreeSet;

use super::input::Edit;
use crate::syntax::tree::{Member, Node};

/// All maps of documents.
pub(crate) fn maps<'n>(documents: &'n [Node<'n>]) -> Vec<&'n Node<'n>> {
    let mut open: Vec<&Node<'n>> = documents.iter().rev().collect();
    let mut maps = Vec::new();
    while let Some(node) = open.pop() {
        if !node.members().is_empty() {
            maps.push(node);
        }
        open.extend(node.members().iter().rev().map(|member| &member.value));
        open.extend(node.items().iter().rev());
    }
    maps
}

/// The member of a map with this key.
pub(crate) fn member<'n>(map: &'n Node<'n>, key: &str) -> Option<&'n Member<'n>> {
    map.members().iter().find(|member| *member.key == *key)
}

/// The end of a string or a plain scalar without blanks.
fn end_of_scalar(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..)?;
    let quote = rest.chars().next()?;
    if quote != '"' && quote != '\'' {
        let end = |c: char| !c.is_ascii_alphanumeric() && c != '_';
        return Some(at + rest.find(end).unwrap_or(rest.len()));
    }
    let mut is_escaped = false;
    for (offset, c) in rest.char_indices().skip(1) {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if quote == '"' => is_escaped = true,
            _ if c == quote => return Some(at + offset + 1),
            _ => {}
        }
    }
    None
}

/// Replaces a string by another one, with the same quotes.
pub(crate) fn replace_scalar(text: &str, at: usize, new: &str) -> Option<Edit> {
    let end = end_of_scalar(text, at)?;
    Some(Edit::replace(at, end, quoted_like(text, at, new)))
}

fn quoted_like(text: &str, at: usize, new: &str) -> String {
    match text.get(at..).and_then(|rest| rest.chars().next()) {
        Some(quote @ ('"' | '\'')) => format!("{quote}{new}{quote}"),
        _ => new.to_owned(),
    }
}

/// How an item of a list is introduced: the text between the previous delimiter and the item.
enum Lead<'t> {
    /// In brackets: the blanks after `[` or `,`.
    Flow(&'t str),
    /// In a list of YAML with dashes: the line up to the item.
    Block(&'t str),
}

fn lead(text: &str, at: usize) -> Option<Lead<'_>> {
    let before = text.get(..at)?;
    let blanks = before.len() - before.trim_end().len();
    match before.trim_end().chars().next_back()? {
        '[' | ',' | '{' => Some(Lead::Flow(before.get(at - blanks..)?)),
        _ => {
            let start = before.rfind('\n').map_or(0, |at| at + 1);
            let line = before.get(start..)?;
            line.chars().all(|c| c == ' ' || c == '-').then_some(Lead::Block(line))
        }
    }
}

/// An object, in the forms of JSON and of YAML.
pub(crate) struct Object {
    /// In one line, with quotes.
    pub(crate) json: String,
    /// Lines of members.
    pub(crate) yaml: Vec<String>,
}

/// Removes a member with a scalar from a map that keeps others, with the separator behind or before it. `None` if there is no such
/// member, and if its end is not known.
pub(crate) fn remove_member(text: &str, map: &Node<'_>, key: &str) -> Option<Edit> {
    let at = map.members().iter().position(|member| *member.key == *key)?;
    let removed = map.members().get(at)?;
    if let Some(next) = map.members().get(at + 1) {
        return Some(Edit::remove(removed.key_at, next.key_at));
    }
    let end = end_of_scalar(text, removed.value.at)?;
    match lead(text, removed.key_at)? {
        Lead::Flow(_) => {
            let before = text.get(..removed.key_at)?.trim_end().strip_suffix(',')?;
            Some(Edit::remove(before.trim_end().len(), end))
        }
        Lead::Block(line) if line.contains('-') => None,
        Lead::Block(line) => {
            let end = end_of_line(text, end)?;
            let rest = text.get(end..)?;
            let eol = ["\r\n", "\n"].into_iter().find(|eol| rest.starts_with(eol));
            Some(Edit::remove(removed.key_at - line.len(), end + eol.map_or(0, str::len)))
        }
    }
}

/// Inserts an object before an item of a list.
pub(crate) fn insert_before(text: &str, at: usize, object: &Object) -> Option<Edit> {
    match lead(text, at)? {
        Lead::Flow(gap) => {
            let gap = if gap.is_empty() { " " } else { gap };
            Some(Edit::insert(at, format!("{},{gap}", object.json)))
        }
        Lead::Block(line) => Some(Edit::insert(at, block(line, &object.yaml) + "\n" + line)),
    }
}

/// The first item of an empty list in brackets.
pub(crate) fn insert_into_empty(text: &str, list: &Node<'_>, object: &Object) -> Option<Edit> {
    let rest = text.get(list.at..)?.strip_prefix('[')?;
    rest.trim_start().starts_with(']').then(|| Edit::insert(list.at + 1, object.json.clone()))
}

/// Inserts a list with one object as a member before another member, whose key is at this offset.
pub(crate) fn insert_member(text: &str, key_at: usize, key: &str, object: &Object) -> Option<Edit> {
    match lead(text, key_at) {
        Some(Lead::Flow(gap)) => {
            let gap = if gap.is_empty() { " " } else { gap };
            Some(Edit::insert(key_at, format!("\"{key}\": [{}],{gap}", object.json)))
        }
        _ => {
            let start = text.get(..key_at)?.rfind('\n').map_or(0, |at| at + 1);
            let indent = " ".repeat(text.get(start..key_at)?.chars().count());
            let item = block(&format!("{indent}- "), &object.yaml);
            Some(Edit::insert(key_at, format!("{key}:\n{indent}- {item}\n{indent}")))
        }
    }
}

/// Members in lines; the first one follows `line`, which ends in a dash.
fn block(line: &str, members: &[String]) -> String {
    let indent: String = line.chars().map(|_| ' ').collect();
    members.join(&format!("\n{indent}"))
}

/// Appends a string to a list of strings, with the separator and the quotes that the list has.
pub(crate) fn append_string(text: &str, items: &[Node<'_>], new: &str) -> Option<Edit> {
    let last = items.last()?;
    let end = end_of_scalar(text, last.at)?;
    let between = items
        .len()
        .checked_sub(2)
        .and_then(|at| items.get(at))
        .and_then(|before| text.get(end_of_scalar(text, before.at)?..last.at))
        .filter(|between| between.chars().all(|c| c.is_whitespace() || matches!(c, ',' | '-')));
    let (end, separator) = match (lead(text, last.at)?, between) {
        (Lead::Flow(_), Some(between)) => (end, between.to_owned()),
        (Lead::Flow(gap), None) if gap.contains('\n') => (end, format!(",{gap}")),
        (Lead::Flow(_), None) => (end, ", ".to_owned()),
        // A comment stays with the last item.
        (Lead::Block(line), _) => {
            let dash = line.rfind('-')?;
            let eol = if text.contains("\r\n") { "\r\n" } else { "\n" };
            let lead = format!("{eol}{}{}", " ".repeat(dash), line.get(dash..)?);
            (end_of_line(text, end)?, lead)
        }
    };
    Some(Edit::insert(end, format!("{separator}{}", quoted_like(text, last.at, new))))
}

/// Removes items from a list that keeps others: each run of them with the separators behind it, or, at the end of the list,
/// before it. `None` if no item stays, and if the end of one is not known.
pub(crate) fn remove(
    text: &str,
    items: &[Node<'_>],
    removed: &BTreeSet<usize>,
) -> Option<Vec<Edit>> {
    let mut edits = Vec::new();
    let mut rest = removed.iter().copied().peekable();
    while let Some(first) = rest.next() {
        let mut last = first;
        while rest.next_if_eq(&(last + 1)).is_some() {
            last += 1;
        }
        let start = items.get(first)?.at;
        edits.push(match items.get(last + 1) {
            Some(next) => Edit::remove(start, next.at),
            None => {
                let before = items.get(first.checked_sub(1)?)?;
                Edit::remove(end_of_item(text, before.at)?, end_of_item(text, items.get(last)?.at)?)
            }
        });
    }
    Some(edits)
}

/// The end of an item: an object in braces, a string, or in a list of YAML with dashes the line of a scalar.
fn end_of_item(text: &str, at: usize) -> Option<usize> {
    match (text.get(at..)?.starts_with('{'), lead(text, at)?) {
        (true, _) => end_of_object(text, at),
        (false, Lead::Flow(_)) => end_of_scalar(text, at),
        (false, Lead::Block(_)) => end_of_line(text, end_of_scalar(text, at)?),
    }
}

/// The end of the line with a scalar that ends at this offset; `None` if more than a comment follows the scalar.
fn end_of_line(text: &str, end: usize) -> Option<usize> {
    let rest = text.get(end..)?.split(['\n', '\r']).next()?;
    let behind = rest.trim_start();
    (behind.is_empty() || behind.starts_with('#')).then(|| end + rest.len())
}

/// Replaces an object in braces.
pub(crate) fn replace_object(text: &str, at: usize, object: &Object) -> Option<Edit> {
    Some(Edit::replace(at, end_of_object(text, at)?, object.json.clone()))
}

/// The end of an object in braces.
fn end_of_object(text: &str, at: usize) -> Option<usize> {
    let rest = text.get(at..).filter(|rest| rest.starts_with('{'))?;
    let (mut depth, mut end) = (0usize, 0);
    while let Some(next) = rest.get(end..)?.find(['{', '}', '"']) {
        let found = end + next;
        end = found + 1;
        match rest.as_bytes().get(found)? {
            b'{' => depth += 1,
            b'}' => depth = depth.checked_sub(1)?,
            _ => end = end_of_scalar(rest, found)?,
        }
        if depth == 0 {
            return Some(at + end);
        }
    }
    None
}
