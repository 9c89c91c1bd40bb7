//! Workloads of Kubernetes, which name profiles and have none: pods, the resources that contain the template of a pod, and those
//! that allow or bind profiles.
//!
//! `securityContext.seccompProfile` of a pod is for all its containers that have none of their own; its `type` is
//! RuntimeDefault, Unconfined, or Localhost with a path below `/var/lib/kubelet/seccomp` (`SeccompProfile` in
//! `core/v1/types.go` of Kubernetes). Before version 1.27, annotations of the pod named profiles, too.

use crate::diagnostics::quote::shorten;
use crate::syntax::reader::Reader;
use crate::syntax::tree::Node;

/// Where a kubelet looks for `localhostProfile`.
const DIRECTORY: &str = "/var/lib/kubelet/seccomp";

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
struct Named {
    /// A pod or a container, as in messages.
    whose: String,
    at: usize,
    /// `type`, or what an annotation says.
    kind: Option<String>,
    /// `localhostProfile`
    path: Option<String>,
}

impl Named {
    fn of(profile: &Node<'_>, whose: String) -> Named {
        let own = |key| text(profile, key).map(str::to_owned);
        Named { whose, at: profile.at, kind: own("type"), path: own("localhostProfile") }
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
        Named { whose, at: value.at, kind: Some(kind.to_owned()), path }
    }

    fn is(&self, kind: &str) -> bool {
        self.kind.as_deref() == Some(kind)
    }

    /// The file of the node, for profiles of the type Localhost.
    fn file(&self) -> Option<String> {
        let path = self.path.as_deref().filter(|_| self.is("Localhost"))?;
        Some(format!("{DIRECTORY}/{}", shorten(path)))
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
    if let Some(path) = path_of(name) {
        let pod = path.iter().try_fold(document, |node, key| node.get(key));
        let named = pod.and_then(|pod| Some((pod, pod.get("spec")?)));
        let named = named.map_or_else(Vec::new, |(pod, spec)| named_in(pod, spec));
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

/// The profiles of a pod, whose `spec` is given, and of its containers.
fn named_in(pod: &Node<'_>, spec: &Node<'_>) -> Vec<Named> {
    let profile = |node: &Node<'_>, whose: String| {
        let profile = node.get("securityContext")?.get("seccompProfile")?;
        Some(Named::of(profile, whose))
    };
    let of_container = |name: &str| format!("the container {}", shorten(name));
    let keys = ["initContainers", "containers", "ephemeralContainers"];
    let containers = keys.iter().filter_map(|key| spec.get(key)).flat_map(Node::items);
    let own = containers.filter_map(|container| {
        profile(container, of_container(text(container, "name").unwrap_or("?")))
    });
    let annotations = pod.get("metadata").and_then(|metadata| metadata.get("annotations"));
    let annotations = annotations.map_or(&[][..], Node::members).iter().filter_map(|member| {
        let whose = match member.key.strip_prefix(OF_CONTAINER) {
            Some(name) => of_container(name),
            None if *member.key == *OF_POD => "the pod".to_owned(),
            None => return None,
        };
        Some(Named::of_annotation(&member.value, whose))
    });
    // A part of a pod that was given alone.
    let alone = spec.get("seccompProfile").map(|profile| Named::of(profile, "it".to_owned()));
    let of_pod = profile(spec, "the pod".to_owned());
    of_pod.into_iter().chain(own).chain(annotations).chain(alone).collect()
}

fn text<'n>(node: &'n Node<'_>, key: &str) -> Option<&'n str> {
    node.get(key)?.text()
}
