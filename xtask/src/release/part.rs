//! A part of a release, and what it returns.

use callgate_tasks::Result;

use super::context::{Context, Machine};

/// What one kind of user installs.
pub(super) struct Part {
    /// Its name for `--only`.
    pub(super) name: &'static str,
    /// One line for the help and the manifest.
    pub(super) summary: &'static str,
    /// The programs that building it needs.
    pub(super) needs: &'static [&'static str],
    /// The programs that checking it needs as well.
    pub(super) checks_need: &'static [&'static str],
    /// Builds its files below `Context::output` and returns them.
    pub(super) build: fn(&Context) -> Result<Vec<Artefact>>,
    /// Installs the files as a user would, without the network where that is possible, and uses them.
    pub(super) check: fn(&Context) -> Result<()>,
}

/// A file of a release.
#[derive(Debug, Clone)]
pub(super) struct Artefact {
    /// Its path below `Context::output`, with `/`.
    pub(super) path: String,
    /// What it is, in a few words.
    pub(super) what: String,
    /// The machine that it is for; `None` for any.
    pub(super) machine: Option<Machine>,
}
