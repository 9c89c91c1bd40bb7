//! `--split DIR`: a recording for each executable, in a file of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use callgate_record::ExecutableRecording;

use super::identity::Identity;
use super::label::Label;
use crate::output::{self, Directory};
use crate::report::{Failure, Result};

/// The directory for recordings of executables.
pub(super) struct SplitDirectory {
    path: PathBuf,
    directory: Directory,
    /// The file of each executable that was written.
    files: BTreeMap<String, SplitFile>,
    /// Whether this process created the directory, which has nothing in it yet.
    is_new: bool,
}

/// The file of an executable, and the identity of its recordings.
struct SplitFile {
    name: String,
    identity: Identity,
}

impl SplitDirectory {
    /// Creates the directory, or opens an empty one: recordings of other runs would mix with the new ones.
    pub(super) fn prepare(path: &Path) -> Result<SplitDirectory> {
        let failed = |what: &str, why: &io::Error| {
            let why = callgate_linux::error_text(why);
            Failure::about(
                path.display().to_string(),
                format!("the directory cannot be {what}: {why}"),
            )
            .help("name a new directory in one that is writable")
        };
        let existed = path.symlink_metadata().is_ok();
        let directory = Directory::create_all(path).map_err(|why| failed("created", &why))?;
        let entries = directory.names().map_err(|why| failed("read", &why))?;
        if entries.iter().any(|name| name != "." && name != "..") {
            return Err(Failure::about(
                path.display().to_string(),
                "the directory is not empty, and its files would mix with the new recordings",
            )
            .help("name a new directory, or empty this one"));
        }
        let (path, files) = (path.to_owned(), BTreeMap::new());
        Ok(SplitDirectory { path, directory, files, is_new: !existed })
    }

    /// Writes the recordings; those of an earlier part of the run are replaced. If one cannot be written, the others are,
    /// and the first error is returned.
    pub(super) fn write(
        &mut self,
        executables: &[ExecutableRecording],
        labels: &[Label],
    ) -> Result<()> {
        self.is_new = false;
        let mut taken: BTreeSet<String> =
            self.files.values().map(|file| file.name.clone()).collect();
        let mut written = Ok(());
        for ExecutableRecording { path, recording } in executables {
            let SplitFile { name, identity } =
                self.files.entry(path.clone()).or_insert_with(|| SplitFile {
                    name: new_name(path, &taken),
                    identity: Identity::new(),
                });
            taken.insert(name.clone());
            let text = identity.of(recording, labels).to_json();
            let (name, shown) = (OsStr::new(&*name), self.path.join(&*name));
            let file = output::write_recording_in(&self.directory, name, &shown, text.as_bytes());
            written = written.and(file);
        }
        written
    }

    /// The name of the directory.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The file of an executable.
    pub(super) fn file(&self, executable: &str) -> Option<&str> {
        self.files.get(executable).map(|file| file.name.as_str())
    }
}

impl Drop for SplitDirectory {
    /// If nothing was recorded, no directory is left behind.
    fn drop(&mut self) {
        if self.is_new {
            // Fails if it is not empty.
            let _ = std::fs::remove_dir(&self.path);
        }
    }
}

/// A file name for the recording of an executable: its path with dots, which no other executable has.
fn new_name(path: &str, taken: &BTreeSet<String>) -> String {
    /// Below the 255 bytes of a file name, with room for a number and the extension.
    const LONGEST: usize = 200;
    let safe = |c: char| match c {
        '/' => '.',
        c if c.is_ascii_alphanumeric() || "._+-".contains(c) => c,
        _ => '_',
    };
    let stem: String = path.trim_start_matches(['.', '/']).chars().map(safe).collect();
    // The end of a path says more than its start.
    let stem = stem.get(stem.len().saturating_sub(LONGEST)..).unwrap_or_default();
    let stem = if stem.is_empty() { "others" } else { stem };
    let first = format!("{stem}.json");
    if !taken.contains(&first) {
        return first;
    }
    let numbered = (2_usize..).map(|number| format!("{stem}-{number}.json"));
    numbered.take(taken.len() + 1).find(|name| !taken.contains(name)).unwrap_or(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn file_names_are_safe_and_unique() {
        let mut taken = BTreeSet::new();
        let long = format!("/{}/x", "d".repeat(230));
        for (path, expected) in [
            ("/usr/sbin/sshd", "usr.sbin.sshd.json"),
            ("/usr/sbin.sshd", "usr.sbin.sshd-2.json"),
            ("usr/sbin/sshd", "usr.sbin.sshd-3.json"),
            ("./a.out", "a.out.json"),
            ("../../etc/passwd", "etc.passwd.json"),
            ("/bin/\u{1b}[31m é\n", "bin.__31m___.json"),
            ("", "others.json"),
            ("/", "others-2.json"),
            ("-x", "-x.json"),
            (&long, &format!("{}.x.json", "d".repeat(198))),
        ] {
            let name = new_name(path, &taken);
            assert_eq!(name, expected, "{path:?}");
            assert!(taken.insert(name));
        }
    }
}
