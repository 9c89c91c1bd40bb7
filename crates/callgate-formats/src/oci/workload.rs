//! Workloads of Kubernetes, which name profiles: pods, and the resources that contain the template of a pod.
//!
//! `securityContext.seccompProfile` of a pod is for all its containers that have none of their own; its `type` is
//! RuntimeDefault, Unconfined, or Localhost with a path below `/var/lib/kubelet/seccomp` (`SeccompProfile` in
//! `core/v1/types.go` of Kubernetes).

use crate::diagnostics::quote::shorten;
use crate::syntax::reader::Reader;
use crate::syntax::tree::Node;

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
    let pod = path.iter().try_fold(document, |node, key| member(node, key));
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
    let profile = |node| member(member(node, "securityContext")?, "seccompProfile");
    let of = |node, whose: String| profile(node).map(|profile| Named { whose, profile });
    let keys = ["initContainers", "containers", "ephemeralContainers"];
    let containers = keys.iter().filter_map(|key| member(pod, key)).flat_map(Node::items);
    let own = containers.filter_map(|container| {
        of(container, format!("the container {}", shorten(text(container, "name").unwrap_or("?"))))
    });
    of(pod, "the pod".to_owned()).into_iter().chain(own).collect()
}

fn member<'n>(node: &'n Node<'n>, key: &str) -> Option<&'n Node<'n>> {
    node.members().iter().find(|member| *member.key == *key).map(|member| &member.value)
}

fn text<'n>(node: &'n Node<'_>, key: &str) -> Option<&'n str> {
    member(node, key)?.text()
}
