//! The profile of a container, as its engine describes the container.
//!
//! `HostConfig.SecurityOpt` has the options of `--security-opt`. The last one that begins with `seccomp=`, or in old versions
//! `seccomp:`, says which profile the container has: `unconfined`, `builtin`, the profile itself, which Docker's command reads
//! from the file, or with Podman the name of the file. Without one it has the default of the engine, or if it is privileged none.
//! Docker 25 installs no filter in privileged containers, whatever the option says (issue 47499 of moby); since the change 47500 it installs
//! the profile that the option names.
//!
//! Conditions of profiles are about the capabilities of the container: `BoundingCaps` of Podman; else the default ones, with
//! `CapAdd` and without `CapDrop`, or all if it is privileged.
//!
//! Sources: `daemon/seccomp_linux.go`, `daemon/daemon_unix.go` and `oci/caps/utils.go` of moby; `cli/command/container/opts.go` of
//! Docker's command; `libpod/container_inspect_linux.go` and `pkg/specgen/generate/security_linux.go` of Podman.

use super::options::Dialect;
use crate::built_in::defaults::Engine;
use crate::capabilities::CapSet;
use crate::diagnostics::quote::shorten;
use crate::syntax::reader::Reader;
use crate::syntax::tree::{Node, NodeKind};

/// The description of a container, or its `HostConfig`, or the list `SecurityOpt`, or an option of that.
#[derive(Clone, Copy)]
pub(super) struct Container<'n> {
    pub(super) node: &'n Node<'n>,
}

/// The dialect of the profiles of an engine.
pub(super) fn dialect(engine: Engine) -> Dialect {
    match engine {
        Engine::Docker | Engine::Containerd => Dialect::Docker,
        Engine::Podman => Dialect::Podman,
    }
}

/// How to say which default profile a container has.
pub(super) fn other_default(engine: Engine) -> &'static str {
    match engine {
        Engine::Docker => {
            "give docker-default@VERSION for the version of `docker version`, or the file that `seccomp-profile` in \
             /etc/docker/daemon.json names"
        }
        Engine::Podman => {
            "give podman-default@VERSION for the version of containers/common, or the container's config.json, which \
             `OCIConfigPath` names"
        }
        Engine::Containerd => {
            "give containerd-default@VERSION for the version of the node, or crio-default on a node with CRI-O"
        }
    }
}

/// The capabilities of a container: the default ones of its engine, with those that are added and without those that are dropped.
pub(super) fn caps_of(engine: Engine, added: &[&str], dropped: &[&str]) -> CapSet {
    let default = match engine {
        Engine::Docker | Engine::Containerd => CapSet::docker(),
        Engine::Podman => CapSet::podman(),
    };
    let has_all = |list: &[&str]| list.iter().any(|name| name.eq_ignore_ascii_case("all"));
    let set = |list: &[&str]| CapSet::of_names(list.iter().copied());
    match (has_all(added), has_all(dropped)) {
        (true, _) => CapSet::all().without(set(dropped)),
        (false, true) => set(added),
        (false, false) => default.without(set(dropped)).with(set(added)),
    }
}

/// Which profile a container has.
pub(super) enum Installed<'n> {
    /// This text.
    Text(&'n Node<'n>, &'n str),
    /// The default of the engine.
    Default,
}

/// The names of the option, before its value.
const OPTIONS: [&str; 2] = ["seccomp=", "seccomp:"];

/// The value of an option of `--security-opt`, if it is that of the profile.
pub(super) fn option_value(option: &str) -> Option<&str> {
    OPTIONS.iter().find_map(|name| option.strip_prefix(name))
}

impl<'n> Container<'n> {
    /// The container that a node describes.
    pub(super) fn of(node: &'n Node<'n>) -> Option<Container<'n>> {
        let is_description = node.get("HostConfig").is_some() || security_options(node).is_some();
        let has_option = options_of(node)
            .iter()
            .filter_map(Node::text)
            .any(|item| OPTIONS.iter().any(|option| item.starts_with(option)));
        (is_description || has_option).then_some(Container { node })
    }

    /// The part with the options of the container.
    fn host(&self) -> &'n Node<'n> {
        self.node.get("HostConfig").unwrap_or(self.node)
    }

    /// Docker writes the name after a slash.
    pub(super) fn name(&self) -> Option<&'n str> {
        let name = self.node.get("Name").and_then(Node::text).or(self.id())?;
        Some(name.strip_prefix('/').unwrap_or(name))
    }

    pub(super) fn id(&self) -> Option<&'n str> {
        self.node.get("Id").and_then(Node::text)
    }

    /// What a message calls it.
    pub(super) fn called(&self) -> String {
        match self.name() {
            Some(name) => format!("the container {}", shorten(name)),
            None => "the container".to_owned(),
        }
    }

    /// The engine that describes it.
    pub(super) fn engine(&self) -> Engine {
        const OF_PODMAN: [&str; 4] =
            ["OCIConfigPath", "ConmonPidFile", "BoundingCaps", "OCIRuntime"];
        let has = |key: &&str| self.node.members().iter().any(|member| *member.key == **key);
        if OF_PODMAN.iter().any(has) { Engine::Podman } else { Engine::Docker }
    }

    fn is_privileged(&self) -> bool {
        self.host().get("Privileged").is_some_and(|node| node.kind == NodeKind::Bool(true))
    }

    /// Its capabilities.
    pub(super) fn caps(&self) -> CapSet {
        let (host, engine) = (self.host(), self.engine());
        let bounding = self.node.members().iter().find(|member| *member.key == *"BoundingCaps");
        if let Some(bounding) = bounding {
            return CapSet::of_names(texts(&bounding.value));
        }
        if self.is_privileged() {
            return CapSet::all();
        }
        let list = |key: &str| -> Vec<&str> { host.get(key).into_iter().flat_map(texts).collect() };
        caps_of(engine, &list("CapAdd"), &list("CapDrop"))
    }

    /// Which profile it has; `None` after an error was reported, also if it has no filter.
    pub(super) fn installed(&self, reader: &mut Reader<'_>) -> Option<Installed<'n>> {
        let called = self.called();
        let options = match options_of(self.node) {
            [] => security_options(self.host()),
            _ => Some(self.node),
        };
        let Some(options) = options else {
            let message = format!("this text does not say which seccomp profile {called} has");
            let help =
                "for a container of nerdctl, give what `nerdctl inspect --mode=native` prints";
            return reader.refuse(self.node.at, message, help);
        };
        let value = |node: &'n Node<'n>| {
            let text = node.text()?;
            Some((node, option_value(text)?))
        };
        let Some((node, value)) = options_of(options).iter().filter_map(value).next_back() else {
            if self.is_privileged() {
                let message =
                    format!("{called} is privileged and names no profile, so it has no filter");
                return reader.refuse(options.at, message, "all syscalls are allowed");
            }
            return Some(Installed::Default);
        };
        if value == "unconfined" {
            let message = format!("{called} has no filter: its option is seccomp=unconfined");
            return reader.refuse(node.at, message, "all syscalls are allowed");
        }
        if value == "builtin" {
            return Some(Installed::Default);
        }
        if !value.trim_start().starts_with('{') {
            let message = format!("{called} has the profile of a file, which is not in this text");
            return reader.refuse(node.at, message, format!("give the file: {}", shorten(value)));
        }
        if self.is_privileged() && self.engine() == Engine::Docker {
            let message = format!("{called} is privileged: Docker 25 and older ignore its profile");
            reader.warn(node.at, message).help =
                "with such a version, the container has no filter".to_owned();
        }
        Some(Installed::Text(node, value))
    }
}

/// The items of a list of options, or a single option as the only one.
fn options_of<'n>(node: &'n Node<'n>) -> &'n [Node<'n>] {
    if node.text().is_some() { std::slice::from_ref(node) } else { node.items() }
}

/// The value of `SecurityOpt`, even if it is null.
fn security_options<'n>(node: &'n Node<'n>) -> Option<&'n Node<'n>> {
    let mut members = node.members().iter();
    members.find(|member| *member.key == *"SecurityOpt").map(|member| &member.value)
}

pub(super) fn texts<'n>(node: &'n Node<'_>) -> impl Iterator<Item = &'n str> {
    node.items().iter().filter_map(Node::text)
}
