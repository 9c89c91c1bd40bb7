//! Changes of container profiles.

use std::collections::BTreeSet;

use crate::change::entries::{self, Object, member};
use crate::change::input::{Edit, EditInput};
use crate::change::verify::Compared;
use crate::syntax::documents::parse_documents;
use crate::syntax::tree::Node;

/// The action of the entries that are added.
const ALLOW: &str = "SCMP_ACT_ALLOW";

/// Edits, each of which may allow the syscall.
pub(crate) fn edits(input: &EditInput<'_>) -> Vec<Vec<Edit>> {
    let documents = parse_documents(input.text).unwrap_or_default();
    let Some(profile) = profile(input, &documents) else { return Vec::new() };
    let items = profile.get("syscalls").map_or(&[][..], Node::items);
    let is_narrow = !input.wanted.args.is_empty();
    let added = appended(input, items).filter(|_| !is_narrow);
    let new = new_entry(input, profile, items);
    let removed = removed(input, items);
    let mut found: Vec<Vec<Edit>> = Vec::new();
    if !is_narrow && !removed.is_empty() {
        found.push(removed.clone());
    }
    if !is_narrow {
        found.extend(permitted(input, items));
    }
    let added = || added.iter().chain(&new);
    if !removed.is_empty() {
        found.extend(added().map(|edit| removed.iter().chain([edit]).cloned().collect()));
    }
    found.extend(added().map(|edit| vec![edit.clone()]));
    found
}

/// The map that is the profile: the one with the default action.
fn profile<'n>(input: &EditInput<'_>, documents: &'n [Node<'n>]) -> Option<&'n Node<'n>> {
    let maps = entries::maps(documents);
    let with_default: Vec<&Node<'_>> =
        maps.into_iter().filter(|map| member(map, "defaultAction").is_some()).collect();
    let default = input.default_at();
    let has_default = |map: &&&Node<'_>| {
        let found = member(map, "defaultAction");
        found.is_some_and(|found| Some(found.value.at) == default || Some(found.key_at) == default)
    };
    match with_default.as_slice() {
        [only] => Some(only),
        several => several.iter().find(has_default).copied(),
    }
}

/// Whether an entry allows its syscalls always, everywhere.
fn is_plain(entry: &Node<'_>) -> bool {
    let is_set = |key| {
        entry.get(key).is_some_and(|node| !node.items().is_empty() || !node.members().is_empty())
    };
    entry.get("action").and_then(Node::text) == Some(ALLOW)
        && !["args", "includes", "excludes"].into_iter().any(is_set)
}

/// The name at the end of the first list of names that are always allowed.
fn appended(input: &EditInput<'_>, items: &[Node<'_>]) -> Option<Edit> {
    let entry = items.iter().find(|entry| is_plain(entry) && !names(entry).is_empty())?;
    entries::append_string(input.text, names(entry), &input.wanted.name)
}

/// A new entry.
fn new_entry(input: &EditInput<'_>, profile: &Node<'_>, items: &[Node<'_>]) -> Option<Edit> {
    let name = &input.wanted.name;
    // Docker's first format has one name per entry.
    let is_single = items.iter().any(|entry| member(entry, "name").is_some())
        && items.iter().all(|entry| member(entry, "names").is_none());
    let mut object = match is_single {
        true => Object {
            json: format!("{{ \"name\": \"{name}\", \"action\": \"{ALLOW}\""),
            yaml: vec![format!("name: {name}"), format!("action: {ALLOW}")],
        },
        false => Object {
            json: format!("{{ \"names\": [\"{name}\"], \"action\": \"{ALLOW}\""),
            yaml: vec![format!("names: [{name}]"), format!("action: {ALLOW}")],
        },
    };
    if !input.wanted.args.is_empty() {
        let args = input.wanted.compared().map(|Compared { index, value, mask, .. }| {
            let test = match mask {
                Some(mask) => {
                    format!("{mask}, \"valueTwo\": {value}, \"op\": \"SCMP_CMP_MASKED_EQ\"")
                }
                None => format!("{value}, \"op\": \"SCMP_CMP_EQ\""),
            };
            format!("{{ \"index\": {index}, \"value\": {test} }}")
        });
        let args = args.collect::<Vec<_>>().join(", ");
        object.json.push_str(&format!(", \"args\": [{args}]"));
        object.yaml.push(format!("args: [{args}]"));
    }
    object.json.push_str(" }");
    match (items.first(), member(profile, "syscalls")) {
        (Some(first), _) => entries::insert_before(input.text, first.at, &object),
        (None, Some(list)) => entries::insert_into_empty(input.text, &list.value, &object),
        (None, None) => {
            let default = member(profile, "defaultAction")?;
            entries::insert_member(input.text, default.key_at, "syscalls", &object)
        }
    }
}

/// The entries that deny the syscall, with their indices and those of the name in their lists.
fn denying<'n>(
    input: &EditInput<'_>,
    items: &'n [Node<'n>],
) -> Vec<(usize, &'n Node<'n>, BTreeSet<usize>)> {
    let at = input.denying();
    let is_here = |node: &Node<'_>| at.contains(&node.at);
    let mut found = Vec::new();
    for (index, entry) in items.iter().enumerate() {
        let names = names(entry).iter().enumerate();
        let own: BTreeSet<usize> =
            names.filter(|(_, name)| is_here(name)).map(|(index, _)| index).collect();
        if !own.is_empty() || entry.get("name").is_some_and(is_here) {
            found.push((index, entry, own));
        }
    }
    found
}

fn names<'n>(entry: &'n Node<'n>) -> &'n [Node<'n>] {
    entry.get("names").map_or(&[][..], Node::items)
}

/// The name removed from the entries that deny it; entries without other names are removed. Empty if one cannot be.
fn removed(input: &EditInput<'_>, items: &[Node<'_>]) -> Vec<Edit> {
    let (mut edits, mut whole) = (Vec::new(), BTreeSet::new());
    for (index, entry, own) in denying(input, items) {
        let names = names(entry);
        if own.len() >= names.len() {
            whole.insert(index);
            continue;
        }
        let Some(removed) = entries::remove(input.text, names, &own) else { return Vec::new() };
        edits.extend(removed);
    }
    let Some(removed) = entries::remove(input.text, items, &whole) else { return Vec::new() };
    edits.extend(removed);
    edits
}

/// The action of entries that deny only this syscall, replaced. The errno goes with it: crun and Podman refuse an errno beside an
/// action that does not take one.
fn permitted(input: &EditInput<'_>, items: &[Node<'_>]) -> Option<Vec<Edit>> {
    let mut edits = Vec::new();
    for (_, entry, own) in denying(input, items) {
        let action = entry.get("action").filter(|_| own.len() >= names(entry).len())?;
        edits.push(entries::replace_scalar(input.text, action.at, ALLOW)?);
        for key in ["errnoRet", "errno"] {
            if member(entry, key).is_some() {
                edits.push(entries::remove_member(input.text, entry, key)?);
            }
        }
    }
    Some(edits).filter(|edits| !edits.is_empty())
}
