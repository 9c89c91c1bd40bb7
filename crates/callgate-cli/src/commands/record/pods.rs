//! Containers of a Kubernetes node, by the links that kubelet makes to their logs, and patterns of their names.
//!
//! A link is `POD_NAMESPACE_CONTAINER-ID.log`. Names of pods, namespaces and containers have no underscore, so the parts are
//! unambiguous. kubelet cuts names to 255 bytes, so that a link of a pod with a long name may lack the ID or its end.
//!
//! Source: `pkg/kubelet/kuberuntime/legacy.go` of Kubernetes.

use std::fmt;

/// Where kubelet makes links.
pub(super) const LOGS: &str = "/var/log/containers";

/// The length of an ID in hexadecimal digits.
const DIGITS: usize = 64;

/// The longest name of a link without its suffix (`ext4MaxFileNameLen`).
const LONGEST: usize = 255 - SUFFIX.len();

const SUFFIX: &str = ".log";

/// A container that has a log.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct PodContainer {
    pub(super) namespace: String,
    pub(super) pod: String,
    pub(super) container: String,
    pub(super) id: String,
}

/// What the name of a link says.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum LinkName {
    Container(PodContainer),
    /// The ID was cut.
    Cut {
        namespace: String,
        pod: String,
    },
}

impl LinkName {
    /// `None` if kubelet would not make a link with this name.
    pub(super) fn parse(name: &str) -> Option<LinkName> {
        let name = name.strip_suffix(SUFFIX)?;
        let mut parts = name.split('_');
        let (pod, namespace) = (parts.next()?, parts.next()?);
        if !is_name(pod) || !is_name(namespace) {
            return None;
        }
        let (pod, namespace) = (pod.to_owned(), namespace.to_owned());
        let rest = parts.next().filter(|_| parts.next().is_none())?;
        let whole = rest.rsplit_once('-').filter(|(container, id)| is_name(container) && is_id(id));
        match whole {
            Some((container, id)) => {
                let (container, id) = (container.to_owned(), id.to_owned());
                Some(LinkName::Container(PodContainer { namespace, pod, container, id }))
            }
            None if name.len() == LONGEST => Some(LinkName::Cut { namespace, pod }),
            None => None,
        }
    }
}

impl PodContainer {
    /// A name for files, without an extension: that of the link, cut so that extensions fit. The ID stays whole.
    pub(super) fn file_stem(&self) -> String {
        const MOST: usize = 160;
        let PodContainer { namespace, pod, container, id } = self;
        let mut name = format!("{pod}_{namespace}_{container}");
        // Names are ASCII.
        name.truncate(MOST);
        format!("{name}-{id}")
    }

    /// Whether a text may be a [`file_stem`](PodContainer::file_stem). Of a long name, the namespace may be cut off.
    pub(super) fn is_file_stem(text: &str) -> bool {
        text.rsplit_once('-').is_some_and(|(name, id)| !name.is_empty() && is_id(id))
    }
}

impl fmt::Display for PodContainer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let PodContainer { namespace, pod, container, .. } = self;
        write!(f, "{namespace}/{pod}/{container}")
    }
}

/// Whether this may be the ID of a container.
fn is_id(text: &str) -> bool {
    text.len() == DIGITS && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Whether this may be the name of a pod, a namespace or a container: it becomes a part of file names.
fn is_name(text: &str) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    text.bytes().next().is_some_and(is_plain)
        && text.bytes().all(|byte| is_plain(byte) || matches!(byte, b'-' | b'.'))
}

/// `NAMESPACE/POD` or `NAMESPACE/POD/CONTAINER`, where `*` stands for any text.
#[derive(Clone, Debug)]
pub(super) struct PodPattern {
    namespace: String,
    pod: String,
    container: String,
}

impl PodPattern {
    pub(super) fn parse(text: &str) -> Result<PodPattern, String> {
        let parts: Vec<&str> = text.split('/').collect();
        let (namespace, pod, container) = match parts[..] {
            [namespace, pod] => (namespace, pod, "*"),
            [namespace, pod, container] => (namespace, pod, container),
            _ => return Err("a pattern is NAMESPACE/POD or NAMESPACE/POD/CONTAINER".to_owned()),
        };
        for part in [namespace, pod, container] {
            let is_known = |c: char| {
                c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '-' | '.' | '*')
            };
            if let Some(unknown) = part.chars().find(|c| !is_known(*c)) {
                return Err(format!(
                    "no name has {unknown:?}: names consist of small letters, digits, `-` and `.`, and `*` is any text"
                ));
            }
            if part.is_empty() {
                return Err("a part is empty; `*` is any text".to_owned());
            }
        }
        let [namespace, pod, container] = [namespace, pod, container].map(str::to_owned);
        Ok(PodPattern { namespace, pod, container })
    }

    /// Whether it selects a container.
    pub(super) fn selects(&self, one: &PodContainer) -> bool {
        self.selects_pod(&one.namespace, &one.pod) && is_match(&self.container, &one.container)
    }

    /// Whether it selects containers of a pod.
    pub(super) fn selects_pod(&self, namespace: &str, pod: &str) -> bool {
        is_match(&self.namespace, namespace) && is_match(&self.pod, pod)
    }
}

/// Whether a text has the literal parts of a pattern in their order: the first at its start, the last at its end.
pub(super) fn is_match(pattern: &str, text: &str) -> bool {
    let Some((first, rest)) = pattern.split_once('*') else { return pattern == text };
    let Some(text) = text.strip_prefix(first) else { return false };
    let (middle, last) = rest.rsplit_once('*').map_or(("", rest), |(middle, last)| (middle, last));
    let Some(mut text) = text.strip_suffix(last) else { return false };
    // The earliest place of each part leaves most for the next ones.
    middle.split('*').all(|part| match text.split_once(part) {
        Some((_, after)) => {
            text = after;
            true
        }
        None => false,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn container(namespace: &str, pod: &str, container: &str) -> PodContainer {
        let [namespace, pod, container] = [namespace, pod, container].map(str::to_owned);
        PodContainer { namespace, pod, container, id: "3f".repeat(32) }
    }

    #[test]
    fn links_name_containers() {
        let id = "3f".repeat(32);
        let parse = |name: &str| LinkName::parse(&name.replace("ID", &id));
        let expected = LinkName::Container(container("default", "web-7d4b9c-x2x5j", "app-a"));
        assert_eq!(parse("web-7d4b9c-x2x5j_default_app-a-ID.log"), Some(expected));
        let dotted = LinkName::Container(container("kube-system", "etcd-node.example.com", "etcd"));
        assert_eq!(parse("etcd-node.example.com_kube-system_etcd-ID.log"), Some(dotted));
        for other in [
            "web_default_app-ID",
            "web_default_app-3f3f.log",
            "web_default_app_ID.log",
            "web_default-ID.log",
            "web_default_app_more-ID.log",
            "_default_app-ID.log",
            "../web_default_app-ID.log",
            ".hidden_default_app-ID.log",
            "web_default_-ID.log",
            "",
        ] {
            assert_eq!(parse(other), None, "{other}");
        }
    }

    /// As kubelet cuts: the first 251 bytes, then the suffix.
    #[test]
    fn a_link_of_a_long_name_may_lack_the_id() {
        let whole = format!("{}_default_app-{}", "p".repeat(253), "3f".repeat(32));
        assert_eq!(LinkName::parse(&format!("{}.log", &whole[..251])), None);
        let pod = "p".repeat(200);
        let whole = format!("{pod}_default_app-{}", "3f".repeat(32));
        let namespace = "default".to_owned();
        let cut = LinkName::parse(&format!("{}.log", &whole[..251]));
        assert_eq!(cut, Some(LinkName::Cut { namespace, pod }));
        assert_eq!(LinkName::parse(&format!("{}.log", &whole[..250])), None);
    }

    #[test]
    fn names_of_files_fit_and_have_the_id() {
        let one = container("default", &"p".repeat(170), "app");
        let stem = one.file_stem();
        assert!(stem.ends_with(&format!("p-{}", one.id)) && stem.len() == 225, "{stem}");
        assert!(PodContainer::is_file_stem(&stem) && !PodContainer::is_file_stem(&one.id));
        let stem = container("default", "web", "app").file_stem();
        assert_eq!(stem, format!("web_default_app-{}", "3f".repeat(32)));
    }

    #[test]
    fn patterns_select_by_all_parts() {
        let one = container("default", "web-7d4b9c-x2x5j", "app");
        for (pattern, expected) in [
            ("default/web-*", true),
            ("*/*", true),
            ("default/web-7d4b9c-x2x5j/app", true),
            ("default/*-7d4b9c-*/a*p", true),
            ("d*t/w*b*4*j/*", true),
            ("default/web", false),
            ("default/web-*/sidecar", false),
            ("other/web-*", false),
            ("default/*-x2x5j*j", false),
            ("default/web-7d4b9c-x2x5j*x2x5j", false),
        ] {
            let selects = PodPattern::parse(pattern).unwrap().selects(&one);
            assert_eq!(selects, expected, "{pattern}");
        }
        for bad in ["web", "default/web/app/x", "default/", "/web", "default/Web", "default/web?"] {
            assert!(PodPattern::parse(bad).is_err(), "{bad}");
        }
    }
}
