//! Selection of a document among those of a text.
//!
//! Files for Kubernetes often have several YAML documents, such as a ConfigMap beside a `SeccompProfile`, and `kubectl get`
//! returns a list of resources. The only profile is read, or the resource with the `metadata.name` that is asked for.

use std::collections::BTreeMap;

use super::workload::is_workload;
use crate::diagnostics::quote::shorten;
use crate::syntax::reader::Reader;
use crate::syntax::tree::{Node, NodeKind};

/// The maximum number of profiles that a message lists.
const MAX_LISTED: usize = 10;

/// The resources and other documents of a text: the items of a list stand for themselves.
pub(super) fn flatten<'n>(documents: &'n [Node<'n>]) -> Vec<&'n Node<'n>> {
    let each = documents.iter().map(|document| {
        let items = document.get("items").filter(|_| is_list(document)).map(Node::items);
        items.unwrap_or(std::slice::from_ref(document))
    });
    each.flatten().collect()
}

/// Whether a document is a list of resources. A list without items is none, for a better message; nor is one of profiles
/// without a kind, which Kubernetes does not know.
fn is_list(document: &Node<'_>) -> bool {
    let kind = document.get("kind").and_then(Node::text);
    let items = document.get("items").map_or(&[][..], Node::items);
    let are_resources = !items.is_empty() && items.iter().all(|item| item.get("kind").is_some());
    matches!(kind, Some("List" | "SeccompProfileList")) && are_resources
}

/// Whether a document is a `SeccompProfile` resource.
fn is_resource(document: &Node<'_>) -> bool {
    document.get("kind").and_then(Node::text) == Some("SeccompProfile")
}

/// `metadata.name`.
pub(super) fn resource_name<'n>(document: &'n Node<'_>) -> Option<&'n str> {
    document.get("metadata")?.get("name")?.text()
}

/// The `SeccompProfile` resource with a name. Of several, the first.
pub(super) fn find_resource<'n>(documents: &'n [Node<'n>], name: &str) -> Option<&'n Node<'n>> {
    let is_it =
        |document: &&Node<'_>| is_resource(document) && resource_name(document) == Some(name);
    flatten(documents).into_iter().find(is_it)
}

/// Chooses the document with the profile: the resource with the name, or the only profile. `choosing` is how a user chooses
/// the resource with a name. `None` only after an error was reported.
pub(super) fn choose<'n>(
    reader: &mut Reader<'_>,
    documents: &'n [Node<'n>],
    wanted: Option<&str>,
    choosing: fn(&str) -> String,
) -> Option<&'n Node<'n>> {
    let all = flatten(documents);
    match wanted {
        Some(name) => choose_named(reader, &all, name),
        None => choose_only(reader, &all, choosing),
    }
}

fn choose_named<'n>(
    reader: &mut Reader<'_>,
    all: &[&'n Node<'n>],
    name: &str,
) -> Option<&'n Node<'n>> {
    let resources: Vec<&'n Node<'n>> = all.iter().copied().filter(|one| is_resource(one)).collect();
    let named: Vec<&'n Node<'n>> =
        resources.iter().copied().filter(|one| resource_name(one) == Some(name)).collect();
    let shown = shorten(name);
    match (named.as_slice(), resources.as_slice()) {
        ([only], _) => return Some(only),
        ([first, second, ..], _) => {
            let message = format!(
                "two SeccompProfile resources are named `{shown}`, the first at {}",
                reader.place(first.at)
            );
            reader.error(second.at, message).help = "put one into its own file".to_owned();
        }
        ([], []) => {
            let at = all.first().map_or(0, |one| one.at);
            let message =
                format!("the text has no SeccompProfile resource, so none is named `{shown}`");
            reader.error(at, message).help = "omit the name".to_owned();
        }
        ([], [first, ..]) => {
            let near = reader.nearest(name, resources.iter().filter_map(|one| resource_name(one)));
            let names = list(&resources);
            let help = match near {
                Some(near) => format!("did you mean `{}`? The names are {names}", shorten(near)),
                None => format!("the names are {names}"),
            };
            let message = format!("no SeccompProfile resource is named `{shown}`");
            reader.error(first.at, message).help = help;
        }
    }
    None
}

fn choose_only<'n>(
    reader: &mut Reader<'_>,
    all: &[&'n Node<'n>],
    choosing: fn(&str) -> String,
) -> Option<&'n Node<'n>> {
    // A document without a kind is a profile as well, or the message about it is the best one.
    let may_be_profile = |one: &&Node<'_>| is_resource(one) || one.get("kind").is_none();
    let profiles: Vec<&'n Node<'n>> = all.iter().copied().filter(may_be_profile).collect();
    match profiles.as_slice() {
        [only] => Some(only),
        [] => all.iter().copied().find(|one| is_workload(one)).or(all.first().copied()),
        [_, second, ..] => {
            let message = format!(
                "the text has {} profiles; one must be chosen: {}",
                profiles.len(),
                list(&profiles)
            );
            let names: Vec<&str> = profiles.iter().filter_map(|one| resource_name(one)).collect();
            let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
            for name in &names {
                *counts.entry(name).or_default() += 1;
            }
            let unique = names.iter().find(|name| counts.get(*name) == Some(&1));
            reader.error(second.at, message).help = match unique {
                Some(name) => choosing(&shorten(name)),
                None if names.is_empty() => "put each profile into its own file".to_owned(),
                None => "the names are equal, so put each profile into its own file".to_owned(),
            };
            None
        }
    }
}

/// The names of resources, for messages.
fn list(resources: &[&Node<'_>]) -> String {
    let name = |one: &&Node<'_>| match resource_name(one) {
        Some(name) => shorten(name),
        None if matches!(one.kind, NodeKind::Map(_)) => "one without a name".to_owned(),
        None => one.describe(),
    };
    let mut names: Vec<String> = resources.iter().take(MAX_LISTED).map(name).collect();
    if resources.len() > MAX_LISTED {
        names.push("…".to_owned());
    }
    names.join(", ")
}
