//! Selection of the profile among those of a text.
//!
//! Files for Kubernetes often have several YAML documents, such as a ConfigMap beside a `SeccompProfile`, and `kubectl get` and
//! `docker inspect` print several. The only profile is read, or that with the name that is asked for.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::candidates::{Candidate, candidates, is_config_map, is_resource};
use super::container::{Container, Installed};
use super::locate::has_profile;
use super::named::{self, FindFile, Named, Resolved};
use super::options::ReadOptions;
use super::workload::is_workload;
use super::{compose, workload};
use crate::diagnostics::quote::shorten;
use crate::syntax::documents::parse_documents;
use crate::syntax::reader::Reader;
use crate::syntax::tree::{Node, NodeKind};
use callgate_bpf::diagnostic::{Diagnostic, Position};

/// The maximum number of profiles that a message lists.
const MAX_LISTED: usize = 10;

/// The profile that is read.
pub(super) enum Chosen<'n> {
    /// A document.
    Document(Cow<'n, Node<'n>>),
    /// The profile of a container.
    OfContainer(Container<'n>, Cow<'n, Node<'n>>),
    /// A profile that the text names; `None` for the default one.
    Named(Named, Option<Node<'static>>),
}

/// Chooses the profile with the name, or the only one; without a profile, one that the text names, whose file `find` finds. With a
/// dialect, there is none of these, as the runtime reads no such text. `None` only after an error was reported.
pub(super) fn choose<'n>(
    reader: &mut Reader<'_>,
    documents: &'n [Node<'n>],
    options: &ReadOptions,
    find: &mut FindFile<'_>,
) -> Option<Chosen<'n>> {
    let (wanted, choosing) = (options.resource.as_deref(), options.choosing);
    let all = candidates(documents);
    let is_certain = |one: &Candidate<'_>| !matches!(one, Candidate::Document(node) if !is_resource(node) && !has_profile(node));
    if options.dialect.is_none() && !all.iter().any(is_certain) {
        let nodes = || all.iter().map(Candidate::node);
        let mut named: Vec<Named> = nodes().flat_map(workload::containers).collect();
        if named.is_empty() {
            named = nodes().flat_map(compose::containers).collect();
        }
        if !named.is_empty() {
            return choose_container(reader, &named, options, find);
        }
    }
    let candidate = match wanted {
        Some(name) => choose_named(reader, &all, name),
        None => choose_only(reader, &all, choosing),
    }?;
    Some(match candidate {
        Candidate::Document(node) if is_config_map(node) => return no_entry(reader, node),
        Candidate::Document(node) | Candidate::Configuration { configuration: node, .. } => {
            Chosen::Document(Cow::Borrowed(node))
        }
        Candidate::Entry { entry, .. } => {
            let text = entry.value.text().unwrap_or_default();
            let document = embedded(reader, shorten(&entry.key), text, entry.key_at)?;
            Chosen::Document(Cow::Owned(document))
        }
        Candidate::Text(node) => {
            let text = node.text().unwrap_or_default();
            Chosen::Document(Cow::Owned(embedded(reader, "the string".to_owned(), text, node.at)?))
        }
        Candidate::Container(container) => match container.installed(reader)? {
            Installed::Default => Chosen::Named(Named::with_default(&container), None),
            Installed::Text(node, text) => {
                let name = format!("the profile of {}", container.called());
                let profile = embedded(reader, name, text, node.at)?;
                Chosen::OfContainer(container, Cow::Owned(profile))
            }
        },
    })
}

/// Chooses the container with the name, or the only profile, and finds its file. `None` only after an error was reported.
pub(super) fn choose_container<'n>(
    reader: &mut Reader<'_>,
    all: &[Named],
    options: &ReadOptions,
    find: &mut FindFile<'_>,
) -> Option<Chosen<'n>> {
    let named = named::choose(reader, all, options.resource.as_deref(), options.choosing)?;
    let profile = match named.resolve(reader, find)? {
        Resolved::Default => None,
        Resolved::File(file) => Some(embedded(reader, file.name, &file.text, named.at)?),
    };
    Some(Chosen::Named(named, profile))
}

/// The only profile of a file with a base profile, as a document. `None` only after an error was reported.
pub(super) fn choose_document<'n>(
    reader: &mut Reader<'_>,
    documents: &'n [Node<'n>],
    choosing: fn(&str) -> String,
) -> Option<&'n Node<'n>> {
    choose_only(reader, &candidates(documents), choosing).map(|candidate| candidate.node())
}

/// Reports a ConfigMap of which no entry is a profile.
fn no_entry<T>(reader: &mut Reader<'_>, map: &Node<'_>) -> Option<T> {
    let keys = map.get("data").map_or(&[][..], Node::members).iter().take(MAX_LISTED);
    let keys: Vec<String> = keys.map(|member| shorten(&member.key)).collect();
    let message = match keys.as_slice() {
        [] => "this ConfigMap has no entry in `data`".to_owned(),
        keys => format!("no entry of this ConfigMap is a seccomp profile: {}", keys.join(", ")),
    };
    reader.refuse(map.at, message, "a profile has `defaultAction` and `syscalls`")
}

/// The only document of a text in a value of another document. `None` only after an error was reported.
fn embedded(reader: &mut Reader<'_>, name: String, text: &str, at: usize) -> Option<Node<'static>> {
    let parsed = parse_documents(text)
        .map(|documents| documents.into_iter().map(Node::into_owned).collect::<Vec<_>>());
    let start = reader.add_text(name.clone(), text.to_owned(), at);
    let mut documents = match parsed {
        Ok(documents) => documents,
        Err(error) => {
            let Position { line, column } =
                error.position.unwrap_or(Position { line: 1, column: 1 });
            let message = format!("in {name}:{line}:{column}: {}", error.message);
            reader.add(Diagnostic::error(Some(reader.position(at)), message).help(error.help));
            return None;
        }
    };
    match (documents.pop(), documents.is_empty()) {
        (Some(mut only), true) => {
            only.shift(start);
            Some(only)
        }
        _ => {
            let message = format!("{name} has several documents");
            reader.refuse(at, message, "give the one that is meant, in a file of its own")
        }
    }
}

fn choose_named<'n>(
    reader: &mut Reader<'_>,
    all: &[Candidate<'n>],
    name: &str,
) -> Option<Candidate<'n>> {
    let known: Vec<Candidate<'n>> = all.iter().copied().filter(Candidate::has_name).collect();
    let named: Vec<Candidate<'n>> =
        known.iter().copied().filter(|one| one.is_named(name)).collect();
    let shown = shorten(name);
    match (named.as_slice(), known.as_slice()) {
        ([only], _) => return Some(*only),
        ([first, second, ..], _) => {
            let first_at = reader.place(first.at());
            let message = format!("two profiles are named `{shown}`, the first at {first_at}");
            reader.error(second.at(), message).help = match second {
                Candidate::Entry { .. } => {
                    format!("write the name of the ConfigMap before it: NAME/{shown}")
                }
                _ => "put one into its own file".to_owned(),
            };
        }
        ([], []) => {
            let at = all.first().map_or(0, Candidate::at);
            let message =
                format!("the text has no profile with a name, so none is named `{shown}`");
            reader.error(at, message).help = "omit the name".to_owned();
        }
        ([], [first, ..]) => {
            let near = reader.nearest(name, known.iter().filter_map(Candidate::name));
            let names = list(&known);
            let help = match near {
                Some(near) => format!("did you mean `{}`? The names are {names}", shorten(near)),
                None => format!("the names are {names}"),
            };
            let message = format!("no profile is named `{shown}`");
            reader.error(first.at(), message).help = help;
        }
    }
    None
}

fn choose_only<'n>(
    reader: &mut Reader<'_>,
    all: &[Candidate<'n>],
    choosing: fn(&str) -> String,
) -> Option<Candidate<'n>> {
    let profiles: Vec<Candidate<'n>> = all.iter().copied().filter(Candidate::is_profile).collect();
    match profiles.as_slice() {
        [only] => Some(*only),
        [] => {
            let workload = all.iter().find(|one| is_workload(one.node()));
            workload.or(all.first()).copied()
        }
        [_, second, ..] => {
            let message = format!(
                "the text has {} profiles; one must be chosen: {}",
                profiles.len(),
                list(&profiles)
            );
            let names: Vec<&str> = profiles.iter().filter_map(Candidate::name).collect();
            let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
            for name in &names {
                *counts.entry(name).or_default() += 1;
            }
            let unique = names.iter().find(|name| counts.get(*name) == Some(&1));
            let help = match (unique, second) {
                (Some(name), _) => choosing(&shorten(name)),
                (None, Candidate::Entry { map: Some(map), entry }) => {
                    choosing(&format!("{}/{}", shorten(map), shorten(&entry.key)))
                }
                _ if names.is_empty() => "put each profile into its own file".to_owned(),
                _ => "the names are equal, so put each profile into its own file".to_owned(),
            };
            reader.refuse(second.at(), message, help)
        }
    }
}

/// The names of profiles, for messages.
fn list(profiles: &[Candidate<'_>]) -> String {
    let name = |one: &Candidate<'_>| match one.name() {
        Some(name) => shorten(name),
        None if matches!(one.node().kind, NodeKind::Map(_)) => "one without a name".to_owned(),
        None => one.node().describe(),
    };
    let mut names: Vec<String> = profiles.iter().take(MAX_LISTED).map(name).collect();
    if profiles.len() > MAX_LISTED {
        names.push("…".to_owned());
    }
    names.join(", ")
}
