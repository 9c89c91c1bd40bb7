//! Archives whose bytes depend on nothing but their contents.

use std::path::Path;
use std::process::Command;

use callgate_tasks::Result;
use callgate_tasks::files::{make, run};

use super::context::Context;
pub(super) use super::debian::{Control, deb};

/// Packs the directory `name` of `parent` as `archive`, a `.tar.gz`: sorted, of root, with the time of the commit.
pub(super) fn tar_gz(context: &Context, parent: &Path, name: &str, archive: &Path) -> Result<()> {
    let mut tar = tar(context, archive)?;
    run(tar.arg("--use-compress-program=gzip -9n").arg("--directory").arg(parent).arg(name))
        .map(drop)
}

/// Packs what is in a directory as `archive`, a `.tar`.
pub(super) fn tar_of(context: &Context, directory: &Path, archive: &Path) -> Result<()> {
    let mut tar = tar(context, archive)?;
    run(tar.arg("--directory").arg(directory).args(["--transform", "s,^\\./,,", "."])).map(drop)
}

fn tar(context: &Context, archive: &Path) -> Result<Command> {
    make(archive.parent().unwrap_or(archive))?;
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=ustar"])
        .args(["--mode=u=rwX,go=rX", &format!("--mtime=@{}", context.epoch)])
        .args(["--create", "--file"])
        .arg(archive);
    Ok(tar)
}
