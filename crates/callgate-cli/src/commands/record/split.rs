//! `--split DIR`: a recording for each executable, in a file of its own.

use std::collections::{BTreeMap, BTreeSet};
use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use callgate::recording::Recording;
use callgate_record::ExecutableRecording;

use super::label::Label;
use crate::output::{self, Directory};
use crate::recordings;
use crate::report::{Failure, Result};

/// The directory for recordings of executables.
pub(super) struct SplitDirectory {
    path: PathBuf,
    directory: Directory,
    /// The file of each executable that was written.
    files: BTreeMap<String, String>,
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
        let directory = Directory::create_all(path).map_err(|why| failed("created", &why))?;
        let entries = directory.names().map_err(|why| failed("read", &why))?;
        if entries.iter().any(|name| name != "." && name != "..") {
            return Err(Failure::about(
                path.display().to_string(),
                "the directory is not empty, and its files would mix with the new recordings",
            )
            .help("name a new directory, or empty this one"));
        }
        Ok(SplitDirectory { path: path.to_owned(), directory, files: BTreeMap::new() })
    }

    /// Writes the recordings; those of an earlier part of the run are replaced.
    pub(super) fn write(
        &mut self,
        executables: &[ExecutableRecording],
        labels: &[Label],
    ) -> Result<()> {
        let mut taken: BTreeSet<String> = self.files.values().cloned().collect();
        for ExecutableRecording { path, recording } in executables {
            let name = self.files.entry(path.clone()).or_insert_with(|| new_name(path, &taken));
            taken.insert(name.clone());
            let text = identified(recording, labels).to_json();
            let shown = self.path.join(&*name);
            output::write_recording_in(&self.directory, OsStr::new(name), &shown, text.as_bytes())?;
        }
        Ok(())
    }

    /// The name of the directory.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The file of an executable.
    pub(super) fn file(&self, executable: &str) -> Option<&str> {
        self.files.get(executable).map(String::as_str)
    }
}

/// A recording of one run, with an identity and these labels.
pub(super) fn identified(recording: &Recording, labels: &[Label]) -> Recording {
    let mut recording = recording.clone();
    recordings::identify(&mut recording);
    labels.iter().for_each(|one| recording.label(&one.key, &one.value));
    recording
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
