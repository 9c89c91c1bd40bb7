//! Debian packages whose bytes depend on nothing but their contents.

use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use callgate_tasks::Result;
use callgate_tasks::files::{make, read, run, write};

use super::context::Context;
use crate::owner::Owner;

/// Who answers for the packages.
fn maintainer(owner: &Owner) -> String {
    format!("The Callgate developers <{}>", owner.address())
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

/// Makes a Debian package of the tree `root` in the directory `into`, and returns its file name. Writes into the tree what
/// every package has: `DEBIAN`, the copyright and the list of changes.
pub(super) fn deb(
    context: &Context,
    control: &Control,
    root: &Path,
    into: &Path,
) -> Result<String> {
    let Control { package, version, architecture, .. } = control;
    write_documents(context, control, root)?;
    let contents = Contents::of(root)?;
    let directory = root.join("DEBIAN");
    make(&directory)?;
    let text = control_file(context, control, contents.kibibytes);
    let mut files = vec![("control", text), ("md5sums", contents.md5sums(root)?)];
    files.extend(control.scripts.iter().map(|(name, text)| (*name, text.clone())));
    for (name, text) in files {
        let path = directory.join(name);
        write(&path, text)?;
        let is_script = ["preinst", "postinst", "prerm", "postrm", "config"].contains(&name);
        set_mode(&path, if is_script { 0o755 } else { 0o644 })?;
    }
    set_mode(&directory, 0o755)?;
    make(into)?;
    let name = format!("{package}_{version}_{architecture}.deb");
    // dpkg-deb takes the times of files from SOURCE_DATE_EPOCH if they are later. Several threads compress to other bytes than
    // one, and Ubuntu's dpkg-deb would choose another compressor than Debian's.
    let mut build = context.command("dpkg-deb");
    build.args(["--root-owner-group", "--threads-max=1", "-Zxz", "-z6", "--build"]).arg(root);
    run(build.arg(into.join(&name)))?;
    Ok(name)
}

/// The text of `DEBIAN/control`.
fn control_file(context: &Context, control: &Control, kibibytes: u64) -> String {
    let (maintainer, place) = (maintainer(&context.owner), context.owner.place());
    let Control { package, version, architecture, fields, .. } = control;
    let (first, rest) = control.description;
    let mut text = format!(
        "Package: {package}\nVersion: {version}\nArchitecture: {architecture}\nMaintainer: {maintainer}\n\
         Installed-Size: {kibibytes}\nPriority: optional\nHomepage: https://{place}\n"
    );
    for field in *fields {
        text += &format!("{field}\n");
    }
    text += &format!("Description: {first}\n");
    for line in rest {
        text += &format!(" {line}\n");
    }
    text
}

/// Writes the copyright in the form that Debian's tools read, and the list of changes of the package.
fn write_documents(context: &Context, control: &Control, root: &Path) -> Result<()> {
    let directory = root.join("usr/share/doc").join(control.package);
    make(&directory)?;
    let mit = read(&context.root.join("LICENSE-MIT"))?;
    write(
        &directory.join("copyright"),
        copyright(&String::from_utf8_lossy(&mit), &context.owner.place())?,
    )?;
    let mut date = context.command("date");
    date.args(["--utc", "--rfc-email", &format!("--date=@{}", context.epoch)]);
    let date = run(date.env("LC_ALL", "C"))?;
    let Control { package, version, .. } = control;
    let (maintainer, place) = (maintainer(&context.owner), context.owner.place());
    let text = format!(
        "{package} ({version}) unstable; urgency=medium\n\n  * Release {} of Callgate: https://{place}/releases\n\n \
         -- {maintainer}  {date}",
        context.version
    );
    let changes = directory.join("changelog");
    write(&changes, text)?;
    compress(&changes)
}

/// The copyright file of a package, from the text of the MIT license.
fn copyright(mit: &str, place: &str) -> Result<String> {
    let mut lines = mit.lines();
    let holder = lines
        .find_map(|line| line.strip_prefix("Copyright (c) "))
        .ok_or("LICENSE-MIT: has no line with the copyright")?;
    let mut text = format!(
        "Format: https://www.debian.org/doc/packaging-manuals/copyright-format/1.0/\nUpstream-Name: Callgate\n\
         Source: https://{place}\n\nFiles: *\nCopyright: {holder}\nLicense: Expat or Apache-2.0\n\nLicense: Expat\n"
    );
    for line in lines.skip_while(|line| line.is_empty()) {
        text += &format!(" {}\n", if line.is_empty() { "." } else { line });
    }
    text += "\nLicense: Apache-2.0\n On Debian systems, the text of the Apache License, version 2.0, is in\n \
             /usr/share/common-licenses/Apache-2.0.\n";
    Ok(text)
}

/// Compresses a file in place, as Debian wants manual pages and long documents.
pub(super) fn compress(path: &Path) -> Result<()> {
    run(Command::new("gzip").args(["-9n", "--force", "--"]).arg(path)).map(drop)
}

/// What a package contains.
#[derive(Debug, Default)]
struct Contents {
    /// The regular files, relative to the root.
    files: Vec<PathBuf>,
    /// The size as dpkg counts it: files in whole KiB, and one for everything else.
    kibibytes: u64,
}

impl Contents {
    /// Walks through a tree, and gives files and directories the permissions that they have in packages.
    fn of(root: &Path) -> Result<Contents> {
        let mut contents = Contents::default();
        let mut open = vec![root.to_owned()];
        while let Some(directory) = open.pop() {
            let failed = |error| format!("{}: {error}", directory.display());
            set_mode(&directory, 0o755)?;
            for entry in fs::read_dir(&directory).map_err(failed)? {
                let entry = entry.map_err(failed)?;
                let (path, data) = (entry.path(), entry.metadata().map_err(failed)?);
                if data.is_file() {
                    let is_program = data.permissions().mode() & 0o100 != 0;
                    set_mode(&path, if is_program { 0o755 } else { 0o644 })?;
                    contents.kibibytes += data.len().div_ceil(1024);
                    contents.files.push(path.strip_prefix(root).unwrap_or(&path).to_owned());
                } else {
                    contents.kibibytes += 1;
                    open.extend(data.is_dir().then_some(path));
                }
            }
        }
        contents.files.sort();
        Ok(contents)
    }

    /// The file with which `dpkg --verify` finds changed files.
    fn md5sums(&self, root: &Path) -> Result<String> {
        run(Command::new("md5sum").current_dir(root).arg("--").args(&self.files))
    }
}

fn set_mode(path: &Path, mode: u32) -> Result<()> {
    fs::set_permissions(path, Permissions::from_mode(mode))
        .map_err(|error| format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_copyright_is_that_of_the_license() {
        let text = copyright(
            "MIT License\n\nCopyright (c) 2026 A\n\nPermission is\ngranted.\n\nAS IS.\n",
            "a.example/callgate",
        );
        let text = text.unwrap();
        assert!(text.contains("\nCopyright: 2026 A\nLicense: Expat or Apache-2.0\n"), "{text}");
        assert!(
            text.contains("\nLicense: Expat\n Permission is\n granted.\n .\n AS IS.\n\n"),
            "{text}"
        );
        assert!(copyright("Permission is granted.\n", "a.example/callgate").is_err());
    }

    #[test]
    fn contents_have_the_permissions_and_the_size_of_packages() {
        let root = std::env::temp_dir().join(format!("callgate-debian-{}", std::process::id()));
        make(&root.join("a")).unwrap();
        write(&root.join("a/program"), [0; 1025]).unwrap();
        write(&root.join("a/text"), "").unwrap();
        set_mode(&root.join("a/program"), 0o700).unwrap();
        set_mode(&root.join("a/text"), 0o666).unwrap();
        std::os::unix::fs::symlink("text", root.join("a/link")).unwrap();
        let contents = Contents::of(&root).unwrap();
        let mode = |name: &str| fs::metadata(root.join(name)).unwrap().permissions().mode() & 0o777;
        let modes = ["a", "a/program", "a/text"].map(mode);
        fs::remove_dir_all(&root).unwrap();
        assert_eq!(contents.files, ["a/program", "a/text"].map(PathBuf::from));
        // Two for the program, one each for the directory and the link.
        assert_eq!(contents.kibibytes, 4);
        assert_eq!(modes, [0o755, 0o755, 0o644]);
    }
}
