//! Workloads of Kubernetes, which name profiles and have none: pods, the resources that contain the template of a pod, and those
//! that record, allow or bind profiles.
//!
//! The profile that all containers of a workload have is read, or that of the container that is asked for ([`containers`]). Without
//! a profile, the kubelet's configuration decides. RuntimeDefault is read as that of containerd. A privileged container has no filter
//! (`GenerateSeccompSpecOpts` in `internal/cri` of containerd).
//!
//! `securityContext.seccompProfile` of a pod is for all its containers that have none of their own; its `type` is
//! RuntimeDefault, Unconfined, or Localhost with a path below `/var/lib/kubelet/seccomp` (`SeccompProfile` in
//! `core/v1/types.go` of Kubernetes). Before version 1.27, annotations of the pod named profiles, too.

use super::candidates::resource_name;
use super::container::{caps_of, texts};
use super::named::{KUBELET, Named as Container, Which};
use crate::built_in::defaults::Engine;
use crate::diagnostics::quote::shorten;
use crate::syntax::reader::Reader;
use crate::syntax::tree::{Node, NodeKind};

/// The annotation for a pod, and the beginning of that for a container.
const OF_POD: &str = "seccomp.security.alpha.kubernetes.io/pod";
const OF_CONTAINER: &str = "container.seccomp.security.alpha.kubernetes.io/";

/// The keys between a resource of a kind and the pods.
fn path_of(kind: &str) -> Option<&'static [&'static str]> {
    Some(match kind {
        "Pod" => &[],
        "PodTemplate" => &["template"],
        "Deployment"
        | "ReplicaSet"
        | "ReplicationController"
        | "StatefulSet"
        | "DaemonSet"
        | "Job" => &["spec", "template"],
        "CronJob" => &["spec", "jobTemplate", "spec", "template"],
        _ => return None,
    })
}

/// The maximum number of profiles in a message.
const SHOWN: usize = 5;

/// A profile that a workload names.
#[derive(Clone)]
struct Named {
    /// A pod or a container, as in messages.
    whose: String,
    /// The name of the container; `None` for a pod.
    container: Option<String>,
    at: usize,
    is_annotation: bool,
    /// `type`, or what an annotation says.
    kind: Option<String>,
    /// `localhostProfile`
    path: Option<String>,
}

impl Named {
    fn of(profile: &Node<'_>, whose: String) -> Named {
        let own = |key| text(profile, key).map(str::to_owned);
        Named {
            whose,
            container: None,
            at: profile.at,
            is_annotation: false,
            kind: own("type"),
            path: own("localhostProfile"),
        }
    }

    /// What an annotation names: `runtime/default`, `localhost/web.json`.
    fn of_annotation(value: &Node<'_>, whose: String) -> Named {
        let written = value.text().unwrap_or_default();
        let (kind, path) = match written.split_once('/') {
            Some(("localhost", path)) => ("Localhost", Some(path.to_owned())),
            _ if written == "unconfined" => ("Unconfined", None),
            _ if matches!(written, "runtime/default" | "docker/default") => {
                ("RuntimeDefault", None)
            }
            _ => (written, None),
        };
        Named {
            whose,
            container: None,
            at: value.at,
            is_annotation: true,
            kind: Some(kind.to_owned()),
            path,
        }
    }

    fn is(&self, kind: &str) -> bool {
        self.kind.as_deref() == Some(kind)
    }

    /// The profile of a container.
    fn which(&self) -> Which {
        match (self.kind.as_deref(), &self.path) {
            (Some("RuntimeDefault"), _) => Which::Default,
            (Some("Unconfined"), _) => Which::Unconfined("its profile is Unconfined"),
            (Some("Localhost"), Some(path)) => Which::File(path.clone()),
            (Some("Localhost"), None) => Which::Unknown("missing `localhostProfile`".to_owned()),
            (Some(other), _) => Which::Unknown(format!("`type` is {}", shorten(other))),
            (None, _) => Which::Unknown("missing `type`".to_owned()),
        }
    }

    /// The file of the node, for profiles of the type Localhost.
    fn file(&self) -> Option<String> {
        let path = self.path.as_deref().filter(|_| self.is("Localhost"))?;
        Some(format!("{KUBELET}/{}", shorten(path)))
    }

    fn describe(&self, reader: &Reader<'_>) -> String {
        let kind = self.kind.as_deref().map_or_else(|| "no type".to_owned(), shorten);
        let path =
            self.path.as_deref().map_or_else(String::new, |path| format!(" {}", shorten(path)));
        format!("{kind}{path} for {} at {}", self.whose, reader.place(self.at))
    }
}

/// Whether a resource names profiles.
pub(super) fn is_workload(document: &Node<'_>) -> bool {
    text(document, "kind").is_some_and(|kind| path_of(kind).is_some())
}

/// Reports which profiles a resource of Kubernetes names, or a part of one without a kind; `false` if it is none that does.
pub(super) fn report_workload(reader: &mut Reader<'_>, document: &Node<'_>) -> bool {
    let Some(kind) = document.get("kind") else {
        let named = named_in(document, document);
        let is_part = !named.is_empty();
        if is_part {
            report(reader, "part of a resource", document.at, &named);
        }
        return is_part;
    };
    let (name, at) = (kind.text().unwrap_or_default(), kind.at);
    if path_of(name).is_some() {
        let named = pod_of(document).map_or_else(Vec::new, |(pod, spec)| named_in(pod, spec));
        report(reader, name, at, &named);
        return true;
    }
    let message = match name {
        "ProfileBinding" => {
            let profile = document.get("spec").and_then(|spec| spec.get("profileRef"));
            let profile = profile.and_then(|profile| text(profile, "name")).unwrap_or("no name");
            format!("this ProfileBinding is not a profile; it names {}", shorten(profile))
        }
        "SecurityContextConstraints" => {
            let allowed = document.get("seccompProfiles").map_or(&[][..], Node::items);
            let allowed: Vec<String> =
                allowed.iter().filter_map(Node::text).take(SHOWN).map(shorten).collect();
            let allowed = if allowed.is_empty() { "none".to_owned() } else { allowed.join(", ") };
            format!("this SecurityContextConstraints is not a profile; it allows {allowed}")
        }
        "ProfileRecording" => "this ProfileRecording is not a profile: it records one".to_owned(),
        _ => return false,
    };
    reader.error(at, message).help =
        "give the SeccompProfile resource, or the file of the profile on the node".to_owned();
    true
}

fn report(reader: &mut Reader<'_>, kind: &str, at: usize, named: &[Named]) {
    let mut all: Vec<String> = named.iter().take(SHOWN).map(|one| one.describe(reader)).collect();
    if let Some(more @ 1..) = named.len().checked_sub(SHOWN) {
        all.push(format!("{more} more"));
    }
    let message = match all.as_slice() {
        [] => format!("this {kind} names no seccomp profile, so the kubelet's default decides"),
        all => format!("this {kind} is not a profile; it names {}", all.join(", ")),
    };
    let is_unconfined = !named.is_empty() && named.iter().all(|one| one.is("Unconfined"));
    reader.error(at, message).help = match named.iter().find_map(Named::file) {
        Some(file) => format!("give the file of the node, {file}"),
        None if is_unconfined => "Unconfined means that no filter is installed".to_owned(),
        None if named.is_empty() => {
            "with seccompDefault, the kubelet takes that of the runtime, containerd-default or crio-default; \
             without it, no filter is installed"
                .to_owned()
        }
        None => "RuntimeDefault is the default of the node's runtime: give containerd-default or crio-default"
            .to_owned(),
    };
}

/// The pod of a resource, and its `spec`.
fn pod_of<'n>(document: &'n Node<'n>) -> Option<(&'n Node<'n>, &'n Node<'n>)> {
    let path = path_of(text(document, "kind")?)?;
    let pod = path.iter().try_fold(document, |node, key| node.get(key))?;
    Some((pod, pod.get("spec")?))
}

/// The containers of a workload, or of a part of one without a kind, with their profiles; none if it says nothing about profiles.
pub(super) fn containers(document: &Node<'_>) -> Vec<Container> {
    let (pod, spec) = match document.get("kind") {
        Some(_) => match pod_of(document) {
            Some(parts) => parts,
            None => return Vec::new(),
        },
        None => (document, document),
    };
    let all = named_in(pod, spec);
    let Some(of_pod) = all.first() else { return Vec::new() };
    let of_pod = Some(of_pod).filter(|one| one.container.is_none());
    let container = |name: Option<&str>, node: &Node<'_>, own: &Named| {
        let context = node.get("securityContext");
        let list = |key: &str| -> Vec<&str> {
            let capabilities = context.and_then(|context| context.get("capabilities")?.get(key));
            capabilities.into_iter().flat_map(texts).collect()
        };
        let is_privileged = context
            .and_then(|context| context.get("privileged"))
            .is_some_and(|node| node.kind == NodeKind::Bool(true));
        let names = name.into_iter().chain(resource_name(document)).map(str::to_owned);
        Container {
            whose: name.map_or_else(|| own.whose.clone(), of_container),
            names: names.collect(),
            at: own.at,
            which: if is_privileged { Which::Unconfined("it is privileged") } else { own.which() },
            is_said: true,
            caps: caps_of(Engine::Containerd, &list("add"), &list("drop")),
            engine: Engine::Containerd,
            warning: own.is_annotation.then_some([
                "Kubernetes ignores this annotation since version 1.27",
                "write `securityContext.seccompProfile`, unless the cluster is older",
            ]),
        }
    };
    let known: Vec<Container> = containers_in(spec)
        .filter_map(|node| {
            let name = text(node, "name").unwrap_or("?");
            let own = all.iter().find(|one| one.container.as_deref() == Some(name)).or(of_pod)?;
            Some(container(Some(name), node, own))
        })
        .collect();
    match (known.is_empty(), of_pod) {
        (true, Some(own)) => vec![container(None, spec, own)],
        _ => known,
    }
}

/// The nodes of the containers of a pod.
fn containers_in<'n>(spec: &'n Node<'n>) -> impl Iterator<Item = &'n Node<'n>> {
    let keys = ["initContainers", "containers", "ephemeralContainers"];
    keys.into_iter().filter_map(|key| spec.get(key)).flat_map(Node::items)
}

fn of_container(name: &str) -> String {
    format!("the container {}", shorten(name))
}

/// The profiles of a pod, whose `spec` is given, and of its containers: first that of the pod. What a field says counts rather than
/// an annotation.
fn named_in(pod: &Node<'_>, spec: &Node<'_>) -> Vec<Named> {
    let profile = |node: &Node<'_>, whose: String, container: Option<&str>| {
        let profile = node.get("securityContext")?.get("seccompProfile")?;
        Some(Named { container: container.map(str::to_owned), ..Named::of(profile, whose) })
    };
    let own = containers_in(spec).filter_map(|container| {
        let name = text(container, "name").unwrap_or("?");
        profile(container, of_container(name), Some(name))
    });
    let annotations = pod.get("metadata").and_then(|metadata| metadata.get("annotations"));
    let annotations = annotations.map_or(&[][..], Node::members).iter().filter_map(|member| {
        let (whose, container) = match member.key.strip_prefix(OF_CONTAINER) {
            Some(name) => (of_container(name), Some(name.to_owned())),
            None if *member.key == *OF_POD => ("the pod".to_owned(), None),
            None => return None,
        };
        Some(Named { container, ..Named::of_annotation(&member.value, whose) })
    });
    // A part of a pod that was given alone.
    let alone = spec.get("seccompProfile").map(|profile| Named::of(profile, "it".to_owned()));
    let of_pod = profile(spec, "the pod".to_owned(), None);
    let mut all: Vec<Named> =
        of_pod.into_iter().chain(own).chain(annotations).chain(alone).collect();
    all.sort_by_key(|one| one.container.is_some());
    all
}

fn text<'n>(node: &'n Node<'_>, key: &str) -> Option<&'n str> {
    node.get(key)?.text()
}
