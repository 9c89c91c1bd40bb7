//! The tables of the engines' default profiles, and the newest version of one.

use callgate_bpf::diagnostic::Diagnostic;

use super::table::Table;

pub(super) const DOCKER: &str = include_str!("../../profiles/docker-default.txt");
pub(super) const CONTAINERD: &str = include_str!("../../profiles/containerd-default.txt");
pub(super) const PODMAN: &str = include_str!("../../profiles/podman-default.txt");
pub(super) const CRIO: &str = include_str!("../../profiles/crio-default.txt");
pub(super) const FLATPAK: &str = include_str!("../../profiles/flatpak-default.txt");

/// An engine for containers with a default profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Engine {
    Docker,
    Podman,
    Containerd,
}

impl Engine {
    /// The name and the text of the newest version of its default profile.
    ///
    /// # Errors
    /// If the table is not valid, which a test excludes.
    pub(crate) fn newest_default(self) -> Result<(String, String), Diagnostic> {
        let (name, text) = match self {
            Engine::Docker => ("docker-default", DOCKER),
            Engine::Podman => ("podman-default", PODMAN),
            Engine::Containerd => ("containerd-default", CONTAINERD),
        };
        let invalid = || Diagnostic::error(None, format!("the table of {name} is not valid"));
        let table = Table::parse(text).map_err(|_| invalid())?;
        let newest = table.newest().ok_or_else(invalid)?;
        Ok((format!("{name}@{}", newest.name()), table.profile(newest)))
    }
}
