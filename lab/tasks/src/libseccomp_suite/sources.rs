//! The sources of libseccomp: a given directory, or Debian's source package. The files that the tests need are
//! copied, so that the sources stay unchanged.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use super::process::{LIMIT, run};
use callgate_tasks::Result;
use callgate_tasks::apt::Apt;
use callgate_tasks::files::{files, make, read, remove, write};

/// The source package with this suite. The tests belong to the upstream version.
const PACKAGE: &str = "libseccomp=2.6.1-1";
const SUITE: &str = "sid";
const ARCHIVE: &str = "libseccomp_2.6.1.orig.tar.gz";

/// The copied files of a directory: tests with their tables and scripts, tools, and headers.
const COPIED: [(&str, &[&str]); 3] = [
    ("tests", &["c", "h", "tests", "sh", "pfc", "supp"]),
    ("tools", &["c", "h"]),
    ("include", &["h", "in"]),
];

/// Copies the sources to `work`; returns their version. `directory` keeps the downloaded package.
pub(super) fn prepare(source: Option<&Path>, directory: &Path, work: &Path) -> Result<String> {
    let source = match source {
        Some(source) => source.to_owned(),
        None => debian(directory).map_err(|why| {
            format!(
                "cannot get Debian's source package {PACKAGE}: {why}\n\
                 --source DIR takes unpacked sources of libseccomp instead"
            )
        })?,
    };
    for (place, extensions) in COPIED {
        let target = work.join(place);
        make(&target)?;
        for extension in extensions {
            for file in files(&source.join(place), extension)? {
                let copy = target.join(file.file_name().unwrap_or_default());
                fs::copy(&file, &copy).map_err(|error| format!("{}: {error}", file.display()))?;
            }
        }
    }
    let configuration = source.join("configure.ac");
    let version = version(&String::from_utf8_lossy(&read(&configuration)?))
        .ok_or_else(|| format!("{}: missing version in AC_INIT", configuration.display()))?;
    let template = read(&work.join("include/seccomp.h.in"))?;
    let header = header(&String::from_utf8_lossy(&template), &version);
    write(&work.join("include/seccomp.h"), header)?;
    Ok(version)
}

/// Copies the headers of another implementation over those of the sources.
pub(super) fn replace_headers(headers: &Path, work: &Path) -> Result<()> {
    for name in ["seccomp.h", "seccomp-syscalls.h"] {
        write(&work.join("include").join(name), read(&headers.join(name))?)?;
    }
    Ok(())
}

/// Downloads the source package if that has not been done, and unpacks it.
fn debian(directory: &Path) -> Result<PathBuf> {
    let archive = directory.join(ARCHIVE);
    if !archive.exists() {
        let downloads = directory.join("apt");
        remove(&downloads)?;
        let downloaded = download(&downloads, &archive);
        remove(&downloads)?;
        downloaded?;
    }
    let unpacked = directory.join("debian");
    remove(&unpacked)?;
    make(&unpacked)?;
    let mut command = Command::new("tar");
    command.arg("-xf").arg(&archive).arg("-C").arg(&unpacked).arg("--strip-components=1");
    run(&mut command, LIMIT)?.success().map_err(|why| format!("tar: {why}"))?;
    Ok(unpacked)
}

/// Downloads the source package to a directory, and moves the complete archive.
fn download(directory: &Path, archive: &Path) -> Result<()> {
    Apt::sources(directory, SUITE)?.download_source(PACKAGE)?;
    let downloaded = directory.join(ARCHIVE);
    fs::rename(&downloaded, archive).map_err(|error| format!("{}: {error}", downloaded.display()))
}

/// The version in `AC_INIT([libseccomp], [2.6.1])`.
fn version(configuration: &str) -> Option<String> {
    let line = configuration.lines().find_map(|line| line.trim().strip_prefix("AC_INIT("))?;
    let version = line.split(',').nth(1)?.trim().trim_end_matches(')');
    Some(version.trim_matches(['[', ']']).to_owned())
}

/// Fills the version in the template of `seccomp.h`.
fn header(template: &str, version: &str) -> String {
    let mut parts = version.split('.');
    ["@VERSION_MAJOR@", "@VERSION_MINOR@", "@VERSION_MICRO@"]
        .iter()
        .fold(template.to_owned(), |text, name| text.replace(name, parts.next().unwrap_or("0")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_version_is_filled_in() {
        let text = "dnl text\nAC_INIT([libseccomp], [2.6.1])\nAC_CONFIG\n";
        assert_eq!(version(text).as_deref(), Some("2.6.1"));
        assert_eq!(version("AC_INIT([libseccomp])"), None);
        let template = "#define A @VERSION_MAJOR@\n#define B @VERSION_MINOR@.@VERSION_MICRO@\n";
        assert_eq!(header(template, "2.6.1"), "#define A 2\n#define B 6.1\n");
    }
}
