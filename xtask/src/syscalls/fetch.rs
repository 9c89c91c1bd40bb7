//! Gets the sources on a Debian system: two packages through a private apt configuration, and the
//! running kernel's trace events.
//!
//! Nothing of the system changes: apt's lists, caches and configuration lie in the directory of
//! sources, and packages are unpacked there, not installed. The mirror and its keyring are those
//! that this system already trusts.

use super::sources::{FORMATS, HEADERS, MANPAGE, read};
use crate::Result;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Where tracefs may be mounted; the second place is the older one.
const TRACEFS: [&str; 2] = ["/sys/kernel/tracing", "/sys/kernel/debug/tracing"];

/// Fills `directory` anew. What was there stays until all of it could be had.
pub(super) fn fetch(directory: &Path) -> Result<()> {
    let formats = formats()?;
    let apt = directory.join("apt");
    make(&apt.join("lists/partial"))?;
    make(&apt.join("cache/archives/partial"))?;
    let apt = fs::canonicalize(&apt).map_err(|error| format!("{}: {error}", apt.display()))?;
    write(&apt.join("sources.list"), &sid()?)?;
    // The system's hooks around updates are for the system's own lists.
    write(&apt.join("apt.conf"), "#clear APT::Update;\n#clear DPkg;\n")?;
    println!("fetching linux-libc-dev and manpages-dev (Debian sid)");
    apt_get(&apt, &["update"])?;
    apt_get(&apt, &["download", "linux-libc-dev", "manpages-dev"])?;

    let unpacked = apt.join("unpacked");
    remove(&unpacked)?;
    for package in ["linux-libc-dev", "manpages-dev"] {
        let (archive, target) = (newest(&apt, package)?, unpacked.join(package));
        make(&target)?;
        run(Command::new("dpkg-deb").arg("-x").arg(archive).arg(target))?;
    }
    let page = run(Command::new("gzip")
        .arg("-dc")
        .arg(unpacked.join("manpages-dev/usr/share/man/man2/syscalls.2.gz")))?;

    let headers = directory.join(HEADERS);
    remove(&headers)?;
    fs::rename(unpacked.join("linux-libc-dev"), &headers)
        .map_err(|error| format!("{}: {error}", headers.display()))?;
    remove(&unpacked)?;
    write(&directory.join(MANPAGE), &page)?;
    write(&directory.join(FORMATS), &formats)
}

/// The trace events of all calls of the running kernel.
fn formats() -> Result<String> {
    if std::env::consts::ARCH != "x86_64" {
        return Err(format!(
            "the arguments come from the trace events of an x86-64 kernel, and this is {}; \
             run this on x86-64, or copy {FORMATS} of such a run and give --sources",
            std::env::consts::ARCH
        ));
    }
    let events = TRACEFS.iter().map(|root| Path::new(root).join("events/syscalls"));
    let Some(events) = events.into_iter().find(|path| path.exists()) else {
        return Err(format!(
            "no {}/events/syscalls: mount it (`mount -t tracefs nodev {}`) on a kernel with \
             CONFIG_FTRACE_SYSCALLS, and run this as a user who may read it",
            TRACEFS[0], TRACEFS[0]
        ));
    };
    let fail = |error: std::io::Error| format!("{}: {error}", events.display());
    let mut paths = Vec::new();
    for entry in fs::read_dir(&events).map_err(fail)? {
        let entry = entry.map_err(fail)?;
        if entry.file_name().to_string_lossy().starts_with("sys_enter_") {
            paths.push(entry.path().join("format"));
        }
    }
    paths.sort();
    let release = read(Path::new("/proc/sys/kernel/osrelease"))?;
    let version: String = release.chars().take_while(|c| c.is_ascii_digit() || *c == '.').collect();
    let mut text = format!("kernel {}\n", version.trim_end_matches('.'));
    for path in paths {
        // Event identifiers change with every boot and mean nothing here.
        let format = read(&path)?;
        text.extend(format.lines().filter(|l| !l.starts_with("ID:")).flat_map(|l| [l, "\n"]));
    }
    Ok(text)
}

/// A line for a private sources.list: sid from the mirror that this system uses for Debian itself.
fn sid() -> Result<String> {
    let mut files = vec![PathBuf::from("/etc/apt/sources.list")];
    if let Ok(directory) = fs::read_dir("/etc/apt/sources.list.d") {
        files.extend(directory.flatten().map(|entry| entry.path()));
    }
    files.sort();
    let texts = files.iter().filter_map(|file| fs::read_to_string(file).ok());
    let found = texts.into_iter().find_map(|text| debian_mirror(&text));
    let (mirror, keyring) = found.ok_or(
        "apt's sources name no mirror of Debian; on another system unpack Debian's linux-libc-dev \
         and manpages-dev by hand, see `Sources` in xtask/src/syscalls/sources.rs",
    )?;
    let keyring = keyring.map_or(String::new(), |path| format!(" signed-by={path}"));
    Ok(format!("deb [target=Packages{keyring}] {mirror} sid main\n"))
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

/// Runs apt-get with everything private below `apt`; downloads land there.
fn apt_get(apt: &Path, arguments: &[&str]) -> Result<()> {
    let set = |key: &str, value: String| ["-o".to_owned(), format!("{key}={value}")];
    let inside = |name: &str| apt.join(name).display().to_string();
    let mut command = Command::new("apt-get");
    command.current_dir(apt).arg("-qq").arg("-c").arg(apt.join("apt.conf"));
    command.args(set("Dir::Etc::sourcelist", inside("sources.list")));
    command.args(set("Dir::Etc::sourceparts", "-".to_owned()));
    command.args(set("Dir::State", inside("")));
    command.args(set("Dir::State::status", "/var/lib/dpkg/status".to_owned()));
    command.args(set("Dir::Cache", inside("cache")));
    // As root, apt would download as a user who may not write here.
    command.args(set("APT::Sandbox::User", "root".to_owned()));
    run(command.args(arguments)).map(|_| ())
}

/// The archive of a package that was downloaded last.
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
        .ok_or_else(|| format!("{}: apt-get left no {prefix}*.deb", directory.display()))
}

/// Runs a command and gives its output; the error of a failure is what it said.
fn run(command: &mut Command) -> Result<String> {
    let program = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("{program}: {error}"))?;
    if !output.status.success() {
        return Err(format!("{program}: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    String::from_utf8(output.stdout).map_err(|_| format!("{program}: its output is not UTF-8"))
}

fn make(directory: &Path) -> Result<()> {
    fs::create_dir_all(directory).map_err(|error| format!("{}: {error}", directory.display()))
}

fn remove(directory: &Path) -> Result<()> {
    match fs::remove_dir_all(directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(format!("{}: {error}", directory.display()))
        }
        _ => Ok(()),
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(|error| format!("{}: {error}", path.display()))
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
