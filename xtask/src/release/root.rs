//! A root directory of Debian 12, in which packages are installed; and Debian's checker of packages.

use std::path::{Path, PathBuf};
use std::process::Command;

use callgate_tasks::files::{make, remove, run};
use callgate_tasks::{Result, apt};

use super::context::{Context, execute};

/// The name of Debian 12, the oldest system that packages are for.
pub(super) const DEBIAN: &str = "bookworm";

/// A root directory, which a check may change. It needs root, as `chroot` does.
pub(super) struct Root {
    pub(super) path: PathBuf,
}

/// The directory of a system from the mirror of this one, with options of mmdebstrap. An earlier release may have made it.
pub(super) fn system(context: &Context, name: &str, options: &[String]) -> Result<PathBuf> {
    let base = context.work.join(name);
    if !base.is_dir() {
        let new = context.scratch(&format!("{name}.new"))?;
        let (mirror, keyring) = apt::mirror()?;
        let keyring = keyring.map_or(String::new(), |path| format!("[signed-by={path}] "));
        let mut make = context.command("mmdebstrap");
        make.args(["--quiet", "--mode=root", "--variant=apt"]).args(options).arg(DEBIAN).arg(&new);
        execute(make.arg(format!("deb {keyring}{mirror} {DEBIAN} main")))?;
        std::fs::rename(&new, &base).map_err(|error| format!("{}: {error}", base.display()))?;
    }
    Ok(base)
}

/// A fresh root directory for one check, with apt and what it needs.
pub(super) fn debian(context: &Context, name: &str) -> Result<Root> {
    copy(context, &system(context, "debian-12-base", &[])?, name)
}

/// A copy of a system for one check.
pub(super) fn copy(context: &Context, base: &Path, name: &str) -> Result<Root> {
    let path = context.work.join(name);
    remove(&path)?;
    make(&context.work)?;
    run(Command::new("cp").args(["--archive", "--reflink=auto"]).arg(base).arg(&path))?;
    Ok(Root { path })
}

impl Root {
    /// A command in this root directory, as root.
    pub(super) fn command(&self, words: &[&str]) -> Command {
        self.chroot("0:0", "/root", words)
    }

    /// A command of an ordinary user in this root directory.
    pub(super) fn user(&self, words: &[&str]) -> Command {
        self.chroot("1000:1000", "/home/user", words)
    }

    /// A command with a /proc of its own, which ends with it, as all its processes do.
    fn chroot(&self, user: &str, home: &str, words: &[&str]) -> Command {
        let mut command = Command::new("unshare");
        command.args(["--mount", "--propagation", "private", "--pid", "--fork", "--kill-child"]);
        command.arg(format!("--mount-proc={}", self.path.join("proc").display()));
        command.args(["chroot", &format!("--userspec={user}")]).arg(&self.path).args(words);
        // Programs of this system may be elsewhere than Debian's.
        const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";
        command.env_clear().env("PATH", PATH);
        command.env("HOME", home).env("LC_ALL", "C.UTF-8").env("DEBIAN_FRONTEND", "noninteractive");
        command
    }

    /// Installs packages, all at once.
    pub(super) fn install(&self, packages: &[&Path]) -> Result<()> {
        let inside = self.path.join("packages");
        make(&inside)?;
        let mut dpkg = self.command(&["dpkg", "--install"]);
        for package in packages {
            let name = package.file_name().unwrap_or_default();
            std::fs::copy(package, inside.join(name))
                .map_err(|error| format!("{}: {error}", package.display()))?;
            dpkg.arg(Path::new("/packages").join(name));
        }
        run(&mut dpkg).map(drop)
    }
}

/// Fails if a package violates Debian's policy.
pub(super) fn lint(package: &Path) -> Result<()> {
    let mut lintian = Command::new("lintian");
    lintian.args(["--allow-root", "--fail-on", "error,warning", "--tag-display-limit=0"]);
    execute(lintian.arg(package))
}
