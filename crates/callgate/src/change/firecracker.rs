//! Changes of documents of Firecracker.

use callgate_formats::syntax::tree::Node;

use super::edit::Edit;
use super::entries::{self, Object, member};
use super::input::Candidates;

/// Edits, each of which may allow the syscall.
pub(super) fn edits(input: &Candidates<'_>) -> Vec<Vec<Edit>> {
    let documents = entries::documents(input.text);
    let Some(thread) = thread(input, &documents) else { return Vec::new() };
    let items = thread.get("filter").map_or(&[][..], Node::items);
    let mut found = Vec::new();
    let denying = input.denying();
    let is_denying = |item: &Node| {
        denying.contains(&item.at)
            || item.members().iter().any(|member| denying.contains(&member.value.at))
    };
    if let Some(index) = items.iter().position(is_denying) {
        found.extend(entries::remove_item(input.text, items, index).map(|edit| vec![edit]));
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
        let about: Vec<usize> =
            input.why.unmet.iter().filter_map(|rule| input.offset(&rule.site)).collect();
        let is_about =
            |item: &&Node| item.members().iter().any(|member| about.contains(&member.value.at));
        let (first, others) = match items.iter().filter(is_about).collect::<Vec<_>>().as_slice() {
            [first, others @ ..] => (Some(first.at), others.to_vec()),
            [] => (None, Vec::new()),
        };
        let replaced = first.and_then(|at| entries::replace_object(input.text, at, &object));
        let removed: Option<Vec<Edit>> = others
            .iter()
            .map(|other| {
                let index = items.iter().position(|item| item.at == other.at)?;
                entries::remove_item(input.text, items, index)
            })
            .collect();
        found.extend(replaced.zip(removed).map(|(edit, mut edits)| {
            edits.push(edit);
            edits
        }));
    }
    found
}

/// The filter of the thread: the one with the places of the rules, or the only one.
fn thread<'n>(input: &Candidates<'_>, documents: &'n [Node]) -> Option<&'n Node> {
    let filters: Vec<&Node> = entries::maps(documents)
        .into_iter()
        .filter(|map| member(map, "filter").is_some_and(|list| list.value.text().is_none()))
        .collect();
    let default = input.default_at();
    let rules: Vec<usize> =
        input.statements.rules.iter().filter_map(|rule| input.offset(&rule.site)).collect();
    let is_here = |map: &&&Node| {
        let items = map.get("filter").map_or(&[][..], Node::items);
        let has_rule = |item: &Node| {
            rules.contains(&item.at)
                || item.members().iter().any(|member| rules.contains(&member.value.at))
        };
        items.iter().any(has_rule)
            || map.members().iter().any(|member| Some(member.value.at) == default)
    };
    match filters.as_slice() {
        [only] => Some(only),
        several => several.iter().find(is_here).copied(),
    }
}

fn rule(input: &Candidates<'_>) -> Object {
    let mut json = format!("{{ \"syscall\": \"{}\"", input.wanted.name);
    if !input.wanted.args.is_empty() {
        let args = input.wanted.args.iter().map(|(index, value)| {
            let width = match input.wanted.bits(*index) <= 32 && *value <= u32::MAX.into() {
                true => "dword",
                false => "qword",
            };
            format!(
                "{{ \"index\": {index}, \"type\": \"{width}\", \"op\": \"eq\", \"val\": {value} }}"
            )
        });
        json.push_str(&format!(", \"args\": [{}]", args.collect::<Vec<_>>().join(", ")));
    }
    json.push_str(" }");
    Object { json, yaml: Vec::new() }
}
