//! Buildah with a storage of its own.

use std::path::PathBuf;
use std::process::Command;

use callgate_tasks::Result;

use crate::release::context::Context;

/// Buildah, whose images and containers are in one directory of the release.
pub(super) struct Buildah<'a> {
    context: &'a Context,
    storage: PathBuf,
}

impl Buildah<'_> {
    /// An empty storage; `name` is its directory.
    pub(super) fn new<'a>(context: &'a Context, name: &str) -> Result<Buildah<'a>> {
        Ok(Buildah { context, storage: context.scratch(name)? })
    }

    /// A command of buildah.
    pub(super) fn command(&self, arguments: &[&str]) -> Command {
        let mut buildah = self.context.command("buildah");
        // Plain directories work on all filesystems, and in containers.
        buildah.arg("--storage-driver=vfs");
        buildah.arg("--root").arg(self.storage.join("root"));
        buildah.arg("--runroot").arg(self.storage.join("run"));
        buildah.args(arguments);
        buildah
    }
}
