//! A Python that uses musl, which no package of Debian has: built from Debian's source, once, and kept for the next release.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use callgate_tasks::Result;
use callgate_tasks::apt::Apt;
use callgate_tasks::files::{files, make, remove, run, write};

use super::super::context::Context;
use super::super::root::DEBIAN;

/// The compiler. Python's build asks which directories of the system belong to its target, with one hyphen and with two; those of
/// glibc do not.
const COMPILER: &str = "#!/bin/sh
case $1 in
--print-multiarch) exit ;;
-print-multiarch) echo \"$(uname -m)-linux-musl\"; exit ;;
esac
exec musl-gcc -w \"$@\"
";

/// The interpreter for the machine of this system.
pub(super) fn interpreter(context: &Context) -> Result<PathBuf> {
    let root = context.work.join("python-musl");
    let (python, done) = (root.join("bin/python3"), root.join("complete"));
    if done.exists() {
        return Ok(python);
    }
    run(Command::new("musl-gcc").arg("--version"))
        .map_err(|error| format!("{error}\nmusl-gcc is needed (apt-get install musl-tools)"))?;
    let build = context.scratch("python-musl-build")?;
    let compiler = build.join("compiler");
    write(&compiler, COMPILER)?;
    std::fs::set_permissions(&compiler, std::fs::Permissions::from_mode(0o755))
        .map_err(|error| format!("{}: {error}", compiler.display()))?;
    let source = |package: &str| -> Result<PathBuf> {
        let lists = build.join(format!("{package}-lists"));
        Apt::sources(&lists, DEBIAN)?.download_source(package)?;
        unpacked(&lists, &build.join(package))
    };
    let prefix = format!("--prefix={}", root.display());
    let make_in = |directory: &Path, words: &[&str]| {
        run(context.command("make").arg("--silent").args(words).current_dir(directory)).map(drop)
    };
    make(&root)?;

    // What pip reads packages with.
    let zlib = source("zlib")?;
    let mut configure = context.command("./configure");
    configure.args(["--static", &prefix]).env("CC", &compiler).env("CFLAGS", "-O1 -fPIC");
    run(configure.current_dir(&zlib))?;
    make_in(&zlib, &["install"])?;

    let python_source = source("python3.11")?;
    let mut configure = context.command("./configure");
    configure.args(["--quiet", &prefix, "--disable-test-modules", "--without-doc-strings"]);
    configure.env("CC", &compiler).env("CFLAGS", "-O0");
    configure.env("ZLIB_CFLAGS", format!("-I{}", root.join("include").display()));
    configure.env("ZLIB_LIBS", root.join("lib/libz.a"));
    run(configure.current_dir(&python_source))?;
    make_in(&python_source, &["--jobs=2"])?;
    make_in(&python_source, &["install", "ENSUREPIP=no"])?;
    run(Command::new(&python).args(["-c", "import _posixsubprocess, zlib"]))?;
    remove(&build)?;
    write(&done, "")?;
    Ok(python)
}

/// Unpacks the original archive of a source package. Returns the directory with the source.
fn unpacked(downloads: &Path, target: &Path) -> Result<PathBuf> {
    let archive = ["gz", "bz2", "xz"].iter().find_map(|kind| {
        let found = files(downloads, kind).ok()?;
        found.into_iter().find(|path| path.to_string_lossy().contains(".orig.tar."))
    });
    let archive = archive.ok_or_else(|| format!("{}: no original archive", downloads.display()))?;
    make(target)?;
    let mut tar = Command::new("tar");
    tar.arg("--extract").arg("--strip-components=1").arg("--directory").arg(target);
    run(tar.arg("--file").arg(archive))?;
    Ok(target.to_owned())
}
