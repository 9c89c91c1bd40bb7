//! Profiles that a text names, and does not have: those of the pods of Kubernetes, of the services of a Compose file, of command
//! lines and of other descriptions of containers.
//!
//! A file is looked for beside the text. What its messages quote may be seen by others than its owner, so a file outside of
//! the tree of the source must be given itself. A default profile is the newest one of the engine, with a warning; if a
//! text names several profiles, one must be chosen.
//!
//! Docker and Podman read the file of a profile with their own keys, and containerd as the type of the OCI specification, without
//! those (`WithProfile` in `contrib/seccomp/seccomp.go` of containerd).

use super::container::{Container, dialect, other_default};
use super::options::Dialect;
use crate::built_in::defaults::Engine;
use crate::capabilities::CapSet;
use crate::diagnostics::quote::shorten;
use crate::included::Included;
use crate::syntax::reader::Reader;

/// Finds the file of a profile by its name; `None` if there is none.
pub(super) type FindFile<'f> = dyn FnMut(&str) -> Result<Option<Included>, String> + 'f;

/// Where a kubelet looks for `localhostProfile`.
pub(super) const KUBELET: &str = "/var/lib/kubelet/seccomp";

/// The maximum number of profiles in a message.
const SHOWN: usize = 5;

/// The profile of a container.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Which {
    /// The default one of the engine.
    Default,
    /// That of a file.
    File(String),
    /// None: why not.
    Unconfined(&'static str),
    /// The text does not say: why.
    Unknown(String),
}

/// A container, and the profile that a text names for it.
#[derive(Clone, Debug)]
pub(super) struct Named {
    /// What messages call it: `the service web`.
    pub(super) whose: String,
    /// The names by which it is chosen.
    pub(super) names: Vec<String>,
    /// The byte offset of what names the profile, or of the container.
    pub(super) at: usize,
    pub(super) which: Which,
    /// Whether the text says so, rather than the engine.
    pub(super) is_said: bool,
    pub(super) caps: CapSet,
    pub(super) engine: Engine,
    /// What to know if it is read, with what to do.
    pub(super) warning: Option<[&'static str; 2]>,
}

/// The profile that is read.
pub(super) enum Resolved {
    Default,
    File(Included),
}

impl Named {
    /// A container with the default profile of its engine.
    pub(super) fn with_default(container: &Container<'_>) -> Named {
        Named {
            whose: container.called(),
            names: Vec::new(),
            at: container.node.at,
            which: Which::Default,
            is_said: true,
            caps: container.caps(),
            engine: container.engine(),
            warning: None,
        }
    }

    /// How the file of the profile is read.
    pub(super) fn file_dialect(&self) -> Dialect {
        match self.engine {
            Engine::Containerd => Dialect::Runc,
            Engine::Docker | Engine::Podman => dialect(self.engine),
        }
    }

    fn is_same(&self, other: &Named) -> bool {
        self.engine == other.engine && self.which == other.which && self.caps == other.caps
    }

    fn name(&self) -> Option<&str> {
        self.names.first().map(String::as_str)
    }

    fn describe(&self, reader: &Reader<'_>) -> String {
        let which = match &self.which {
            Which::Default => "the default".to_owned(),
            Which::File(path) => shorten(path),
            Which::Unconfined(_) => "none".to_owned(),
            Which::Unknown(why) => shorten(why),
        };
        format!("{which} for {} at {}", self.whose, reader.place(self.at))
    }

    /// Finds the profile. `None` only after an error was reported, also if there is no filter.
    pub(super) fn resolve(
        &self,
        reader: &mut Reader<'_>,
        find: &mut FindFile<'_>,
    ) -> Option<Resolved> {
        if let Some([message, help]) = self.warning {
            reader.warn(self.at, message).help = help.to_owned();
        }
        match &self.which {
            Which::Default => Some(Resolved::Default),
            Which::Unconfined(why) => {
                let message = format!("{} has no filter: {why}", self.whose);
                reader.refuse(self.at, message, "all syscalls are allowed")
            }
            Which::Unknown(why) => {
                let message = format!("{} has a profile that is not known: {why}", self.whose);
                reader.refuse(self.at, message, "give the file of the profile")
            }
            Which::File(path) => self.file(path, reader, find).map(Resolved::File),
        }
    }

    fn file(
        &self,
        path: &str,
        reader: &mut Reader<'_>,
        find: &mut FindFile<'_>,
    ) -> Option<Included> {
        let shown = shorten(path);
        let mut names = vec![path.to_owned()];
        if self.engine == Engine::Containerd {
            names.extend(path.rsplit_once('/').map(|(_, file)| file.to_owned()));
            names.push(format!("{KUBELET}/{path}"));
        }
        let give = match self.engine {
            Engine::Containerd => format!("give the file of the node, {KUBELET}/{shown}"),
            Engine::Docker | Engine::Podman => format!("give the file: {shown}"),
        };
        for name in &names {
            match find(name) {
                Ok(Some(file)) if !file.is_private => return Some(file),
                // Not read, because the text may be from somebody who is not trusted.
                Ok(None | Some(_)) => {}
                Err(why) => {
                    let message = format!("cannot read the profile of {}: {why}", self.whose);
                    return reader.refuse(self.at, message, give);
                }
            }
        }
        let message = format!(
            "the profile of {} is the file {shown}, which is not in the tree of this text",
            self.whose
        );
        reader.refuse(self.at, message, give)
    }

    /// Warns about the default profile that is read.
    pub(super) fn warn_default(&self, reader: &mut Reader<'_>, name: &str, caps: CapSet) {
        let message = format!(
            "{} has the default profile, and the text does not say in which version; read as {name}, with the capabilities {caps}",
            self.whose
        );
        reader.warn(self.at, message).help = other_default(self.engine).to_owned();
    }
}

/// Chooses the container with the name, or the only profile that the text names: containers about which it says nothing count only
/// if it says nothing about all. `None` only after an error was reported.
pub(super) fn choose(
    reader: &mut Reader<'_>,
    all: &[Named],
    wanted: Option<&str>,
    choosing: fn(&str) -> String,
) -> Option<Named> {
    let is_wanted =
        |one: &&Named| wanted.is_none_or(|name| one.names.iter().any(|own| own == name));
    let own: Vec<&Named> = all.iter().filter(is_wanted).collect();
    let said: Vec<&Named> = own.iter().copied().filter(|one| one.is_said).collect();
    let considered = if said.is_empty() { &own } else { &said };
    let Some((first, rest)) = considered.split_first() else {
        let known: Vec<&str> = all.iter().filter_map(Named::name).collect();
        let near = reader.nearest(wanted.unwrap_or_default(), known.iter().copied());
        let help = match near {
            Some(near) => format!("did you mean `{}`?", shorten(near)),
            None => {
                let shown: Vec<String> =
                    known.iter().take(SHOWN).map(|name| shorten(name)).collect();
                format!("the names are {}", shown.join(", "))
            }
        };
        let at = all.first().map_or(0, |one| one.at);
        let message = format!("no container is named `{}`", shorten(wanted.unwrap_or_default()));
        return reader.refuse(at, message, help);
    };
    if rest.iter().all(|other| first.is_same(other)) {
        if let Some(other) = own.iter().find(|other| !first.is_same(other)) {
            let message = format!("this is the profile of {}, not of {}", first.whose, other.whose);
            let help = other.name().map_or_else(String::new, |name| choosing(&shorten(name)));
            reader.warn(first.at, message).help = help;
        }
        return Some((*first).clone());
    }
    let mut shown: Vec<String> =
        considered.iter().take(SHOWN).map(|one| one.describe(reader)).collect();
    if let Some(more @ 1..) = considered.len().checked_sub(SHOWN) {
        shown.push(format!("{more} more"));
    }
    let message =
        format!("the text names several profiles; one must be chosen: {}", shown.join(", "));
    let help = match first.name() {
        Some(name) => choosing(&shorten(name)),
        None => "put each into its own file".to_owned(),
    };
    reader.refuse(first.at, message, help)
}
