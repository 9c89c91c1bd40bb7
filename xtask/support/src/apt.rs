//! Downloads Debian packages of any suite and architecture, and source packages, with a private apt configuration.
//! Packages are unpacked, not installed, so the system does not change.
//!
//! apt's lists, caches and configuration are in one directory. The mirror and its keyring are those of this
//! system.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files::{make, run, write};
use crate::task::Result;

/// A private configuration, for one suite and architecture.
pub struct Apt {
    directory: PathBuf,
    arch: Option<String>,
}

impl Apt {
    /// Creates a configuration below `directory` with the current lists of a suite; `None` is the architecture of
    /// this system.
    pub fn new(directory: &Path, suite: &str, arch: Option<&str>) -> Result<Apt> {
        Apt::with(directory, arch, &source("deb", "Packages", suite, arch)?)
    }

    /// Creates a configuration below `directory` with the current list of the source packages of a suite.
    pub fn sources(directory: &Path, suite: &str) -> Result<Apt> {
        Apt::with(directory, None, &source("deb-src", "Sources", suite, None)?)
    }

    fn with(directory: &Path, arch: Option<&str>, source: &str) -> Result<Apt> {
        make(&directory.join("lists/partial"))?;
        make(&directory.join("cache/archives/partial"))?;
        let directory = fs::canonicalize(directory)
            .map_err(|error| format!("{}: {error}", directory.display()))?;
        write(&directory.join("sources.list"), source)?;
        // The system's update hooks apply to the system's own lists only.
        write(&directory.join("apt.conf"), "#clear APT::Update;\n#clear DPkg;\n")?;
        let apt = Apt { directory, arch: arch.map(str::to_owned) };
        apt.run("apt-get", &["update"])?;
        Ok(apt)
    }

    /// Downloads packages.
    pub fn download(&self, packages: &[&str]) -> Result<()> {
        self.run("apt-get", &[&["download"], packages].concat()).map(drop)
    }

    /// Downloads the files of a source package to the directory, without unpacking them.
    pub fn download_source(&self, package: &str) -> Result<()> {
        self.run("apt-get", &["source", "--download-only", package]).map(drop)
    }

    /// A package and all packages that it needs, by name.
    pub fn closure(&self, package: &str) -> Result<Vec<String>> {
        let plan =
            self.run("apt-get", &["install", "--simulate", "--no-install-recommends", package])?;
        let installed = plan.lines().filter_map(|line| line.strip_prefix("Inst "));
        let names: Vec<String> =
            installed.filter_map(|rest| rest.split(' ').next()).map(str::to_owned).collect();
        match names.is_empty() {
            true => Err(format!("{package}: apt installs nothing")),
            false => Ok(names),
        }
    }

    /// Unpacks a downloaded package.
    pub fn unpack(&self, package: &str, target: &Path) -> Result<()> {
        make(target)?;
        let archive = newest(&self.directory, package)?;
        run(Command::new("dpkg-deb").arg("-x").arg(archive).arg(target)).map(drop)
    }

    /// A field of the newest version of a package, such as `Depends`.
    pub fn field(&self, package: &str, name: &str) -> Result<String> {
        let shown = self.run("apt-cache", &["show", "--no-all-versions", package])?;
        let value = shown.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
        value.map(str::to_owned).ok_or_else(|| format!("{package}: missing field {name}"))
    }

    /// The names of all packages that begin like this.
    pub fn names(&self, prefix: &str) -> Result<Vec<String>> {
        let names = self.run("apt-cache", &["pkgnames", prefix])?;
        Ok(names.lines().map(str::to_owned).collect())
    }

    /// Runs an apt command with the private configuration; downloads go to the directory.
    fn run(&self, program: &str, arguments: &[&str]) -> Result<String> {
        let set = |key: &str, value: String| ["-o".to_owned(), format!("{key}={value}")];
        let inside = |name: &str| self.directory.join(name).display().to_string();
        let mut command = Command::new(program);
        command.current_dir(&self.directory).arg("-qq").arg("-c").arg(inside("apt.conf"));
        command.args(set("Dir::Etc::sourcelist", inside("sources.list")));
        command.args(set("Dir::Etc::sourceparts", "-".to_owned()));
        command.args(set("Dir::State", inside("")));
        command.args(set("Dir::Cache", inside("cache")));
        // As root, apt would download as a user without write permission here.
        command.args(set("APT::Sandbox::User", "root".to_owned()));
        let status = match &self.arch {
            Some(arch) => {
                command.args(set("APT::Architecture", arch.clone()));
                command.args(set("APT::Architectures", arch.clone()));
                "/dev/null"
            }
            None => "/var/lib/dpkg/status",
        };
        command.args(set("Dir::State::status", status.to_owned()));
        run(command.args(arguments))
    }
}

/// A line of the private sources.list: a suite of this system's Debian mirror, of which only one kind of list is
/// downloaded.
fn source(format: &str, lists: &str, suite: &str, arch: Option<&str>) -> Result<String> {
    let (mirror, keyring) = mirror()?;
    let arch = arch.map_or(String::new(), |arch| format!(" arch={arch}"));
    let keyring = keyring.map_or(String::new(), |path| format!(" signed-by={path}"));
    Ok(format!("{format} [target={lists}{arch}{keyring}] {mirror} {suite} main\n"))
}

/// The mirror of Debian's main archive that this system uses, and the keyring that apt checks it with.
///
/// # Errors
/// If there is none, as on another distribution.
pub fn mirror() -> Result<(String, Option<String>)> {
    let mut files = vec![PathBuf::from("/etc/apt/sources.list")];
    if let Ok(directory) = fs::read_dir("/etc/apt/sources.list.d") {
        files.extend(directory.flatten().map(|entry| entry.path()));
    }
    files.sort();
    let texts = files.iter().filter_map(|file| fs::read_to_string(file).ok());
    let found = texts.into_iter().find_map(|text| debian_mirror(&text));
    found.ok_or_else(|| "apt's sources name no mirror of Debian".to_owned())
}

/// The mirror of the main archive, and its keyring, in a sources file of either format.
fn debian_mirror(text: &str) -> Option<(String, Option<String>)> {
    let is_mirror =
        |word: &str| word.contains("://") && word.trim_end_matches('/').ends_with("/debian");
    let default_keyring = "/usr/share/keyrings/debian-archive-keyring.gpg";
    for stanza in text.split("\n\n") {
        let field = |name: &str| stanza.lines().find_map(|line| line.strip_prefix(name));
        let uris = field("URIs:").into_iter().flat_map(str::split_whitespace);
        if let Some(uri) = uris.into_iter().find(|word| is_mirror(word)) {
            let keyring = field("Signed-By:").map(str::trim).filter(|path| path.starts_with('/'));
            return Some((uri.to_owned(), keyring.map(str::to_owned)));
        }
    }
    let lines = text.lines().filter(|line| line.starts_with("deb "));
    let uri = lines.flat_map(str::split_whitespace).find(|word| is_mirror(word))?;
    let keyring = Path::new(default_keyring).exists().then(|| default_keyring.to_owned());
    Some((uri.to_owned(), keyring))
}

/// The file of a downloaded package.
fn newest(directory: &Path, package: &str) -> Result<PathBuf> {
    let prefix = format!("{package}_");
    let entries =
        fs::read_dir(directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let archives = entries.flatten().filter(|entry| {
        let name = entry.file_name().to_string_lossy().into_owned();
        name.starts_with(&prefix) && name.ends_with(".deb")
    });
    archives
        .max_by_key(|entry| entry.metadata().and_then(|data| data.modified()).ok())
        .map(|entry| entry.path())
        .ok_or_else(|| format!("{}: apt-get did not download {prefix}*.deb", directory.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mirror_is_found_in_both_formats() {
        let deb822 = "Types: deb\nURIs: http://a.example/debian-security\nSuites: x\n\n\
            Types: deb\nURIs: http://a.example/debian/\nSuites: x\nSigned-By: /k.gpg\n";
        let expected = ("http://a.example/debian/".to_owned(), Some("/k.gpg".to_owned()));
        assert_eq!(debian_mirror(deb822), Some(expected));
        let lines = "# deb http://c.example/debian x main\ndeb http://b.example/apt x main\n\
            deb [arch=amd64] http://a.example/debian x main\n";
        assert_eq!(
            debian_mirror(lines).map(|found| found.0),
            Some("http://a.example/debian".into())
        );
        assert_eq!(debian_mirror("deb http://b.example/apt x main\n"), None);
    }
}
