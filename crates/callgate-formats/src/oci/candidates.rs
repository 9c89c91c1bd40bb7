//! What a text has that may be the profile: documents, and profiles inside of other documents.
//!
//! | document | profiles |
//! |---|---|
//! | a `List` of resources, as `kubectl get` prints it | those of its items |
//! | a `ConfigMap` | the entries of `data` that are profiles |
//! | what `docker inspect` or `podman inspect` prints, or its `HostConfig` or `SecurityOpt` | that of each container ([`Container`]) |
//! | what `crictl inspect` prints | `info.runtimeSpec`, an OCI configuration |
//! | what `ctr container info` or `nerdctl inspect --mode=native` prints | `Spec`, an OCI configuration |
//! | a string, as `jq` prints a part of these | the text in it |
//! | any other | itself |

use super::container::Container;
use crate::syntax::tree::{Member, Node};

/// What may be the profile.
#[derive(Clone, Copy)]
pub(super) enum Candidate<'n> {
    /// A document.
    Document(&'n Node<'n>),
    /// An entry of a ConfigMap, with the name of that.
    Entry { map: Option<&'n str>, entry: &'n Member<'n> },
    /// A string with the text of a profile.
    Text(&'n Node<'n>),
    /// A container as an engine describes it.
    Container(Container<'n>),
    /// The OCI configuration of a container, with what describes that.
    Configuration { container: &'n Node<'n>, configuration: &'n Node<'n> },
}

impl<'n> Candidate<'n> {
    /// The node that it is.
    pub(super) fn node(&self) -> &'n Node<'n> {
        match *self {
            Candidate::Document(node) | Candidate::Text(node) => node,
            Candidate::Entry { entry, .. } => &entry.value,
            Candidate::Container(container) => container.node,
            Candidate::Configuration { configuration, .. } => configuration,
        }
    }

    /// The byte offset at which it begins.
    pub(super) fn at(&self) -> usize {
        match self {
            Candidate::Entry { entry, .. } => entry.key_at,
            _ => self.node().at,
        }
    }

    /// Whether it is a profile, or the message about it is the best one: a document without a kind, too.
    pub(super) fn is_profile(&self) -> bool {
        match self {
            Candidate::Document(node) => is_resource(node) || node.get("kind").is_none(),
            _ => true,
        }
    }

    /// The name by which it is chosen.
    pub(super) fn name(&self) -> Option<&'n str> {
        match *self {
            Candidate::Document(node) => resource_name(node),
            Candidate::Text(_) => None,
            Candidate::Entry { entry, .. } => Some(&entry.key),
            Candidate::Container(container) => container.name(),
            Candidate::Configuration { container, .. } => {
                let status = container.get("status");
                let metadata = status.and_then(|status| status.get("metadata"));
                metadata.and_then(|metadata| metadata.get("name")?.text()).or(self.id())
            }
        }
    }

    /// The identifier of a container.
    fn id(&self) -> Option<&'n str> {
        match *self {
            Candidate::Container(container) => container.id(),
            Candidate::Configuration { container, .. } => {
                let id = container.get("ID").or_else(|| container.get("status")?.get("id"));
                id.and_then(Node::text)
            }
            _ => None,
        }
    }

    /// Whether it can be chosen by a name.
    pub(super) fn has_name(&self) -> bool {
        match self {
            Candidate::Document(node) => is_resource(node) && self.name().is_some(),
            _ => self.name().is_some(),
        }
    }

    /// Whether this name is its own: also the beginning of the identifier of a container, and `MAP/KEY` for an entry of a
    /// ConfigMap.
    pub(super) fn is_named(&self, wanted: &str) -> bool {
        /// The fewest characters of an identifier.
        const SHORTEST: usize = 4;
        let is_id = |id: &str| wanted.len() >= SHORTEST && id.starts_with(wanted);
        let is_entry = || match (self, wanted.split_once('/')) {
            (Candidate::Entry { map, entry }, Some((name, key))) => {
                *map == Some(name) && *entry.key == *key
            }
            _ => false,
        };
        self.has_name()
            && (self.name() == Some(wanted) || self.id().is_some_and(is_id) || is_entry())
    }
}

/// All that a text has.
pub(super) fn candidates<'n>(documents: &'n [Node<'n>]) -> Vec<Candidate<'n>> {
    flatten(documents).into_iter().flat_map(inside).collect()
}

/// What a document has.
fn inside<'n>(document: &'n Node<'n>) -> Vec<Candidate<'n>> {
    if let Some(container) = Container::of(document) {
        return vec![Candidate::Container(container)];
    }
    if let Some(configuration) = configuration(document) {
        return vec![Candidate::Configuration { container: document, configuration }];
    }
    if document.text().is_some_and(is_profile) {
        return vec![Candidate::Text(document)];
    }
    let entries: Vec<Candidate<'n>> = match is_config_map(document) {
        true => {
            let map = resource_name(document);
            let entries = document.get("data").map_or(&[][..], Node::members).iter();
            entries
                .filter(|entry| entry.value.text().is_some_and(is_profile))
                .map(|entry| Candidate::Entry { map, entry })
                .collect()
        }
        false => Vec::new(),
    };
    if entries.is_empty() { vec![Candidate::Document(document)] } else { entries }
}

/// Whether a document is a ConfigMap.
pub(super) fn is_config_map(document: &Node<'_>) -> bool {
    document.get("kind").and_then(Node::text) == Some("ConfigMap")
}

/// Whether a text inside of a document is a profile: it has an action.
fn is_profile(text: &str) -> bool {
    text.contains("defaultAction") || text.contains("SCMP_ACT_")
}

/// The OCI configuration in the description of a container.
fn configuration<'n>(document: &'n Node<'n>) -> Option<&'n Node<'n>> {
    let of_runtime = document.get("info").and_then(|info| info.get("runtimeSpec"));
    of_runtime.or_else(|| document.get("Spec").filter(|spec| spec.get("ociVersion").is_some()))
}

/// The resources and other documents of a text: the items of a list stand for themselves.
pub(super) fn flatten<'n>(documents: &'n [Node<'n>]) -> Vec<&'n Node<'n>> {
    let each = documents.iter().map(|document| {
        let items = document.get("items").filter(|_| is_list(document)).map(Node::items);
        // Strings are the options of one container.
        let is_described = |item: &'n Node<'n>| {
            item.text().is_none()
                && (Container::of(item).is_some() || configuration(item).is_some())
        };
        let of_engine = Some(document.items()).filter(|items| items.iter().any(is_described));
        items.or(of_engine).unwrap_or(std::slice::from_ref(document))
    });
    each.flatten().collect()
}

/// Whether a document is a list of resources. A list without items is none, for a better message; nor is one of profiles
/// without a kind, which Kubernetes does not know.
fn is_list(document: &Node<'_>) -> bool {
    let kind = document.get("kind").and_then(Node::text);
    let items = document.get("items").map_or(&[][..], Node::items);
    let are_resources = !items.is_empty() && items.iter().all(|item| item.get("kind").is_some());
    kind.is_some_and(|kind| kind.ends_with("List")) && are_resources
}

/// Whether a document is a `SeccompProfile` resource.
pub(super) fn is_resource(document: &Node<'_>) -> bool {
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
