//! Firecracker in the [registry](crate::languages): how documents are recognized and changed.

use std::collections::BTreeSet;

use super::read::{ReadOptions, read as read_texts};
use super::write;
use crate::change::entries::{self, Object, member};
use crate::change::input::{Edit, EditInput};
use crate::change::verify::Compared;
use crate::languages::{
    Editor, Files, Input, Language, Likeness, Name, Naming, Parts, ReadResult, ReadSource, Reading,
    Writer,
};
use crate::syntax::documents::parse_documents;
use crate::syntax::tree::Node;

/// The language.
pub const LANGUAGE: Language = Language {
    names: &[Name::written("firecracker", &WRITER)],
    forms: &[(
        "firecracker:FILE#vmm",
        "the filter of a thread in a Firecracker or seccompiler document; for the only one of a .json, write its name",
    )],
    utf8_help: Some("Firecracker filters are JSON"),
    likeness,
    parts: Parts::Always,
    editor: Some(Editor::of(edits)),
    ..Language::of("a Firecracker filter", "firecracker", read)
};

const WRITER: Writer = Writer { naming: Some(NAMING), ..Writer::of("profile.json", write::write) };

const NAMING: Naming = Naming { what: "thread", is_valid: |_| true, rules: "", is_of_file: false };

fn likeness(extension: Option<&str>, text: &[u8]) -> Likeness {
    match extension {
        _ if !is_document(text) => Likeness::None,
        Some("json") => Likeness::Extension,
        _ => Likeness::Text,
    }
}

fn read(input: &Input<'_>, reading: &Reading, _: &mut dyn Files) -> ReadResult {
    let options = ReadOptions {
        thread: input.part.map(str::to_owned),
        choosing: reading.choosing,
        statements: reading.statements,
        ..ReadOptions::new(reading.only_arch(LANGUAGE.what)?)
    };
    Ok(ReadSource::of(read_texts(input.text(), &options)?))
}

/// Whether a text begins like a document: an object, in it an object for a thread, in it one of its keys.
fn is_document(text: &[u8]) -> bool {
    const KEYS: [&[u8]; 5] =
        [b"mismatch_action", b"match_action", b"default_action", b"filter_action", b"filter"];
    let key = || {
        let inside = text.trim_ascii_start().strip_prefix(b"{")?;
        let (_, value) = first_member(inside)?;
        Some(first_member(value.strip_prefix(b"{")?)?.0)
    };
    key().is_some_and(|key| KEYS.contains(&key))
}

/// The key of the first member of an object, and the text from its value on.
fn first_member(inside: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = inside.trim_ascii_start().strip_prefix(b"\"")?;
    let end = rest.iter().position(|byte| *byte == b'"')?;
    let (key, rest) = rest.split_at(end);
    let value = rest.get(1..)?.trim_ascii_start().strip_prefix(b":")?;
    Some((key, value.trim_ascii_start()))
}

/// Edits, each of which may allow the syscall.
pub(crate) fn edits(input: &EditInput<'_>) -> Vec<Vec<Edit>> {
    let documents = parse_documents(input.text).unwrap_or_default();
    let Some(thread) = thread(input, &documents) else { return Vec::new() };
    let items = thread.get("filter").map_or(&[][..], Node::items);
    let mut found = Vec::new();
    let denying = with_rules(items, &input.denying());
    if !denying.is_empty() {
        found.extend(entries::remove(input.text, items, &denying));
    }
    let object = rule(input);
    let added = match items.first() {
        Some(first) => entries::insert_before(input.text, first.at, &object),
        None => member(thread, "filter")
            .and_then(|list| entries::insert_into_empty(input.text, &list.value, &object)),
    };
    found.extend(added.map(|edit| vec![edit]));
    if input.wanted.args.is_empty() {
        // A rule with conditions cannot stand beside one without.
        let mut about = with_rules(items, &input.unmet());
        let first = about.pop_first().and_then(|index| items.get(index));
        let replaced = first.and_then(|item| entries::replace_object(input.text, item.at, &object));
        let removed = entries::remove(input.text, items, &about);
        found.extend(replaced.zip(removed).map(|(edit, mut edits)| {
            edits.push(edit);
            edits
        }));
    }
    found
}

/// The indices of the items with rules at these places.
fn with_rules(items: &[Node<'_>], places: &BTreeSet<usize>) -> BTreeSet<usize> {
    let items = items.iter().enumerate();
    items.filter(|(_, item)| has_rule(item, places)).map(|(index, _)| index).collect()
}

fn has_rule(item: &Node<'_>, places: &BTreeSet<usize>) -> bool {
    places.contains(&item.at)
        || item.members().iter().any(|member| places.contains(&member.value.at))
}

/// The filter of the thread: the one with the places of the rules, or the only one.
fn thread<'n>(input: &EditInput<'_>, documents: &'n [Node<'n>]) -> Option<&'n Node<'n>> {
    let filters: Vec<&Node<'_>> = entries::maps(documents)
        .into_iter()
        .filter(|map| member(map, "filter").is_some_and(|list| list.value.text().is_none()))
        .collect();
    let default = input.default_at();
    let rules = input.places(&input.statements.rules);
    let is_here = |map: &&&Node<'_>| {
        let items = map.get("filter").map_or(&[][..], Node::items);
        items.iter().any(|item| has_rule(item, &rules))
            || map.members().iter().any(|member| Some(member.value.at) == default)
    };
    match filters.as_slice() {
        [only] => Some(only),
        several => several.iter().find(is_here).copied(),
    }
}

fn rule(input: &EditInput<'_>) -> Object {
    let mut json = format!("{{ \"syscall\": \"{}\"", input.wanted.name);
    if !input.wanted.args.is_empty() {
        let args = input.wanted.compared().map(|Compared { index, value, is_narrow, .. }| {
            let width = if is_narrow { "dword" } else { "qword" };
            format!(
                "{{ \"index\": {index}, \"type\": \"{width}\", \"op\": \"eq\", \"val\": {value} }}"
            )
        });
        json.push_str(&format!(", \"args\": [{}]", args.collect::<Vec<_>>().join(", ")));
    }
    json.push_str(" }");
    Object { json, yaml: Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_a_filter_per_thread() {
        for text in [
            r#"{"vmm": {"default_action": "trap"}}"#,
            " {\n \"a\"\n:\n{ \"filter\" : []",
            r#"{"x": {"match_action": {"errno": 1}"#,
        ] {
            assert!(is_document(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "{",
            "{}",
            r#"{"defaultAction": "SCMP_ACT_ERRNO"}"#,
            r#"{"linux": {"seccomp": {}}}"#,
            r#"{"a": {"filter"#,
            r#"{"a": [{"filter": []}]}"#,
            "filter",
        ] {
            assert!(!is_document(text.as_bytes()), "{text}");
        }
    }
}
