//! Archives and packages whose bytes depend on nothing but their contents.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use callgate_tasks::Result;
use callgate_tasks::files::{make, run, write};

use super::context::Context;

/// Packs the directory `name` of `parent` as `archive`, a `.tar.gz`: sorted, of root, with the time of the commit.
pub(super) fn tar_gz(context: &Context, parent: &Path, name: &str, archive: &Path) -> Result<()> {
    make(archive.parent().unwrap_or(archive))?;
    let mut tar = Command::new("tar");
    tar.args(["--sort=name", "--owner=0", "--group=0", "--numeric-owner", "--format=ustar"])
        .arg(format!("--mtime=@{}", context.epoch))
        .args(["--use-compress-program=gzip -9n", "--create", "--file"])
        .arg(archive)
        .arg("--directory")
        .arg(parent)
        .arg(name);
    run(&mut tar).map(drop)
}

/// What a Debian package says of itself.
pub(super) struct Control<'a> {
    /// Its name, such as `callgate`.
    pub(super) package: &'a str,
    /// Its version in Debian's form.
    pub(super) version: &'a str,
    /// The machine in Debian's words, or `all`.
    pub(super) architecture: &'a str,
    /// Further fields, as lines: `Section: admin`.
    pub(super) fields: &'a [String],
    /// The first line of the description, and the rest: lines of at most 79 characters, wrapped by the caller.
    pub(super) description: (&'a str, &'a [&'a str]),
    /// Scripts and triggers of the package: `postinst`, `triggers`, with their text.
    pub(super) scripts: &'a [(&'a str, String)],
}

/// Makes a Debian package of the tree `root`, into which it writes `DEBIAN`, in the directory `into`. Returns its file name.
pub(super) fn deb(
    context: &Context,
    control: &Control,
    root: &Path,
    into: &Path,
) -> Result<String> {
    let Control { package, version, architecture, .. } = control;
    let directory = root.join("DEBIAN");
    make(&directory)?;
    let (first, rest) = control.description;
    let mut text =
        format!("Package: {package}\nVersion: {version}\nArchitecture: {architecture}\n");
    text += "Maintainer: The Callgate developers <callgate@localhost>\nPriority: optional\n";
    for field in control.fields {
        text += &format!("{field}\n");
    }
    text += &format!("Description: {first}\n");
    for line in rest {
        text += &format!(" {line}\n");
    }
    write(&directory.join("control"), text)?;
    for (name, script) in control.scripts {
        let path = directory.join(name);
        write(&path, script)?;
        let mode = if *name == "triggers" { 0o644 } else { 0o755 };
        fs::set_permissions(&path, Permissions::from_mode(mode))
            .map_err(|error| format!("{}: {error}", path.display()))?;
    }
    make(into)?;
    let name = format!("{package}_{version}_{architecture}.deb");
    // dpkg-deb takes the times of files from SOURCE_DATE_EPOCH if they are later.
    let mut build = context.command("dpkg-deb");
    build.args(["--root-owner-group", "--build"]).arg(root).arg(into.join(&name));
    run(&mut build)?;
    Ok(name)
}
