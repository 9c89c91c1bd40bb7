//! Selection of a document among those of a text.
//!
//! Files for Kubernetes often have several YAML documents, such as a ConfigMap beside a `SeccompProfile`, and `kubectl get`
//! returns a list of resources. The only profile is read, or the resource with the `metadata.name` that is asked for.

use std::collections::BTreeMap;

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
            let help = match unique {
                Some(name) => choosing(&shorten(name)),
                None if names.is_empty() => "put each profile into its own file".to_owned(),
                None => "the names are equal, so put each profile into its own file".to_owned(),
            };
            reader.refuse(second.at, message, help)
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

// Workloads of Kubernetes, which name profiles: pods, and the resources that contain the template of a pod.
//
// `securityContext.seccompProfile` of a pod is for all its containers that have none of their own; its `type` is
// RuntimeDefault, Unconfined, or Localhost with a path below `/var/lib/kubelet/seccomp` (`SeccompProfile` in
// `core/v1/types.go` of Kubernetes).

/// Where a kubelet looks for `localhostProfile`.
const DIRECTORY: &str = "/var/lib/kubelet/seccomp";

/// The keys between a resource of a kind and the specification of its pods.
fn path_of(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "Pod" => &["spec"],
        "PodTemplate" => &["template", "spec"],
        "Deployment"
        | "ReplicaSet"
        | "ReplicationController"
        | "StatefulSet"
        | "DaemonSet"
        | "Job" => &["spec", "template", "spec"],
        "CronJob" => &["spec", "jobTemplate", "spec", "template", "spec"],
        _ => return None,
    })
}

/// The maximum number of profiles in a message.
const SHOWN: usize = 5;

/// A profile that a workload names.
struct Named<'n> {
    /// A pod or a container, as in messages.
    whose: String,
    profile: &'n Node<'n>,
}

impl Named<'_> {
    /// The file of the node, for profiles of the type Localhost.
    fn file(&self) -> Option<String> {
        let path = text(self.profile, "localhostProfile")?;
        (text(self.profile, "type") == Some("Localhost"))
            .then(|| format!("{DIRECTORY}/{}", shorten(path)))
    }

    fn describe(&self, reader: &Reader<'_>) -> String {
        let kind = text(self.profile, "type").map_or_else(|| "no type".to_owned(), shorten);
        let path = text(self.profile, "localhostProfile");
        let path = path.map_or_else(String::new, |path| format!(" {}", shorten(path)));
        format!("{kind}{path} for {} at {}", self.whose, reader.place(self.profile.at))
    }
}

/// Whether a resource names profiles.
pub(super) fn is_workload(document: &Node<'_>) -> bool {
    text(document, "kind").is_some_and(|kind| path_of(kind).is_some())
}

/// Reports which profiles a workload names; `false` if a resource of this kind is none.
pub(super) fn report_workload(
    reader: &mut Reader<'_>,
    document: &Node<'_>,
    kind: &str,
    at: usize,
) -> bool {
    let Some(path) = path_of(kind) else { return false };
    let pod = path.iter().try_fold(document, |node, key| node.get(key));
    let named = pod.map_or_else(Vec::new, named_in);
    let mut all: Vec<String> = named.iter().take(SHOWN).map(|one| one.describe(reader)).collect();
    if let Some(more @ 1..) = named.len().checked_sub(SHOWN) {
        all.push(format!("{more} more"));
    }
    let message = match all.as_slice() {
        [] => format!("this {kind} names no seccomp profile, so the kubelet's default decides"),
        all => format!("this {kind} is not a profile; it names {}", all.join(", ")),
    };
    reader.error(at, message).help = match named.iter().find_map(Named::file) {
        Some(file) => format!("give the file of the node, {file}"),
        None => "RuntimeDefault is the profile of containerd or CRI-O, which resembles container-default; \
                 Unconfined means that no filter is installed"
            .to_owned(),
    };
    true
}

/// The profiles of a pod and of its containers.
fn named_in<'n>(pod: &'n Node<'n>) -> Vec<Named<'n>> {
    let profile = |node: &'n Node<'n>| node.get("securityContext")?.get("seccompProfile");
    let of = |node, whose: String| profile(node).map(|profile| Named { whose, profile });
    let keys = ["initContainers", "containers", "ephemeralContainers"];
    let containers = keys.iter().filter_map(|key| pod.get(key)).flat_map(Node::items);
    let own = containers.filter_map(|container| {
        of(container, format!("the container {}", shorten(text(container, "name").unwrap_or("?"))))
    });
    of(pod, "the pod".to_owned()).into_iter().chain(own).collect()
}

fn text<'n>(node: &'n Node<'_>, key: &str) -> Option<&'n str> {
    node.get(key)?.text()
}
