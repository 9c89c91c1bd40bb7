//! Changes of documents of Firecracker.

use std::collections::BTreeSet;

use crate::syntax::tree::Node;

use crate::change::allowed::Compared;
use crate::change::edit::Edit;
use crate::change::entries::{self, Object, member};
use crate::change::input::Input;

/// Edits, each of which may allow the syscall.
pub(crate) fn edits(input: &Input<'_>) -> Vec<Vec<Edit>> {
    let documents = entries::documents(input.text);
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
fn thread<'n>(input: &Input<'_>, documents: &'n [Node<'n>]) -> Option<&'n Node<'n>> {
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

fn rule(input: &Input<'_>) -> Object {
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
