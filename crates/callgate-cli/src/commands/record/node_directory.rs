//! The directory of `--node`.
//!
//! | file | |
//! |---|---|
//! | `STEM.json` | the recording of a container, which is not recorded again ([`PodContainer::file_stem`]) |
//! | `STEM.json.partial` | the recording so far, while it is made; it stays if the recorder is killed |
//! | `STEM.1.json`, … | recordings that ended early: by a signal, before the time of `--for`, or because the recorder was killed. The container is recorded again |
//! | `.lock` | locked by the recorder: another one would record the same containers into the same files |
//!
//! All recordings have the extension `json`, so `record merge` reads them. Those that ended early have a caveat.
//!
//! Limits: at most [`MAX_FILES`] recordings. Hooks of runtimes may write recordings into the same directory; their parts
//! are left alone, because their names are others.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use callgate_linux::error_text;

use super::pods::PodContainer;
use crate::output::{self, Directory};
use crate::report::{self, Failure, Result};

/// How many files the directory may have, apart from hidden ones and parts: a merged recording has as many runs.
pub(super) const MAX_FILES: usize = 10_000;

const LOCK: &str = ".lock";
const RECORDING: &str = ".json";
const PART: &str = ".partial";

/// A directory that is locked until this is dropped.
pub(super) struct NodeDirectory {
    path: PathBuf,
    directory: Directory,
    _lock: OwnedFd,
}

impl NodeDirectory {
    /// Creates the directory if it is missing; an error if another recorder uses it.
    pub(super) fn open(path: &Path) -> Result<NodeDirectory> {
        let failed = |what: &str, help: &str| {
            Failure::about(path.display().to_string(), format!("the directory {what}")).help(help)
        };
        let directory = Directory::create_all(path).map_err(|why| {
            let what = format!("cannot be created: {}", error_text(&why));
            failed(&what, "name a directory in one that is writable")
        })?;
        let lock = directory.lock(LOCK).map_err(|why| {
            let what = format!("cannot be locked ({LOCK}): {}", error_text(&why));
            failed(&what, "name a directory that is writable, on a local file system")
        })?;
        let Some(lock) = lock else {
            return Err(failed(
                "is used by another recorder",
                "end that one first, or name another directory",
            ));
        };
        Ok(NodeDirectory { path: path.to_owned(), directory, _lock: lock })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// The recording of a container.
    pub(super) fn file(&self, container: &PodContainer) -> PathBuf {
        self.path.join(container.file_stem() + RECORDING)
    }

    /// Whether the directory has no room for another recording beside the `running` ones.
    pub(super) fn is_full(&self, running: usize) -> bool {
        // If it cannot be read, writing the recording fails, and says why.
        self.directory.names().is_ok_and(|names| count(&names) + running >= MAX_FILES)
    }

    /// Makes recordings of the parts that killed recorders left, and reports them.
    pub(super) fn keep_parts(&self) {
        let mut names = self.directory.names().unwrap_or_default();
        names.sort();
        for name in names {
            let stem =
                name.to_str().and_then(|name| name.strip_suffix(PART)?.strip_suffix(RECORDING));
            if let Some(stem) = stem.filter(|stem| PodContainer::is_file_stem(stem)) {
                self.keep_part_of(stem);
            }
        }
    }

    /// The same for a container, of which a part stays also if its recording cannot be written.
    pub(super) fn keep_part(&self, container: &PodContainer) {
        let stem = container.file_stem();
        if self.path.join(part(&stem)).exists() {
            self.keep_part_of(&stem);
        }
    }

    fn keep_part_of(&self, stem: &str) {
        let part = part(stem);
        let shown = self.path.join(&part).display().to_string();
        match self.set_aside(&part, stem) {
            Ok(name) => report::warn_about(
                &shown,
                format!(
                    "the recorder was killed while it made this recording, which is now {name}"
                ),
                "callgate record merge reads it; the container is recorded again if it still runs",
            ),
            Err(why) => report::warn_about(
                &shown,
                format!(
                    "the recorder was killed while it made this recording, which cannot be renamed: {}",
                    error_text(&why)
                ),
                "rename it to a name that ends in .json, so that callgate record merge reads it",
            ),
        }
    }

    /// Gives the recording of a container another name, because it ended early; returns its path.
    pub(super) fn keep_cut(&self, container: &PodContainer) -> PathBuf {
        let stem = container.file_stem();
        match self.set_aside(&(stem.clone() + RECORDING), &stem) {
            Ok(name) => self.path.join(name),
            Err(why) => {
                let path = self.file(container);
                report::warn_about(
                    &path.display().to_string(),
                    format!(
                        "this recording ended early and cannot be renamed: {}",
                        error_text(&why)
                    ),
                    "rename it to a name that ends in .1.json, so that the container is recorded again",
                );
                path
            }
        }
    }

    /// Renames a file to the first unused `STEM.N.json`.
    fn set_aside(&self, name: &str, stem: &str) -> io::Result<String> {
        for number in 1..=MAX_FILES {
            let new = format!("{stem}.{number}{RECORDING}");
            match output::rename_file(&self.directory, OsStr::new(name), OsStr::new(&new)) {
                Ok(()) => return Ok(new),
                Err(why) if why.kind() == io::ErrorKind::AlreadyExists => {}
                Err(why) => return Err(why),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }
}

/// The name of the recording so far.
fn part(stem: &str) -> String {
    format!("{stem}{RECORDING}{PART}")
}

/// How many of these names are not hidden and not those of parts.
fn count(names: &[OsString]) -> usize {
    let is_counted = |name: &&OsString| {
        let name = name.as_encoded_bytes();
        !name.starts_with(b".") && !name.ends_with(PART.as_bytes())
    };
    names.iter().filter(is_counted).count()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::super::pods::LinkName;
    use super::*;

    struct Scratch(PathBuf);

    impl Scratch {
        fn new(test: &str) -> Scratch {
            let name = format!("callgate-node-directory-{test}-{}", std::process::id());
            let path = std::env::temp_dir().join(name);
            let _ = fs::remove_dir_all(&path);
            Scratch(path)
        }

        fn texts(&self) -> Vec<(String, String)> {
            let mut texts = Vec::new();
            for entry in fs::read_dir(&self.0).unwrap().map(std::result::Result::unwrap) {
                let name = entry.file_name().into_string().unwrap();
                if name != LOCK {
                    texts.push((name, fs::read_to_string(entry.path()).unwrap()));
                }
            }
            texts.sort();
            texts
        }
    }

    impl Drop for Scratch {
        fn drop(&mut self) {
            let _ = fs::remove_dir_all(&self.0);
        }
    }

    fn container(pod: &str) -> PodContainer {
        let name = format!("{pod}_default_app-{}.log", "3f".repeat(32));
        match LinkName::parse(&name) {
            Some(LinkName::Container(container)) => container,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_directory_has_one_recorder() {
        let scratch = Scratch::new("lock");
        let first = NodeDirectory::open(&scratch.0).unwrap();
        let refused = format!("{:?}", NodeDirectory::open(&scratch.0).err().unwrap());
        assert!(refused.contains("the directory is used by another recorder"), "{refused}");
        drop(first);
        NodeDirectory::open(&scratch.0).unwrap();
    }

    #[test]
    fn parts_of_killed_recorders_become_recordings() {
        let scratch = Scratch::new("parts");
        let directory = NodeDirectory::open(&scratch.0).unwrap();
        let [one, other] = ["a.b", "web"].map(container);
        let hook = format!("{}.json.partial", "3f".repeat(32));
        let write = |name: &str, text: &str| fs::write(scratch.0.join(name), text).unwrap();
        let names = [&one, &other].map(PodContainer::file_stem);
        for (name, text) in [(part(&names[0]), "first"), (part(&names[1]), "other")] {
            write(&name, text);
        }
        write(&hook, "of a hook");
        directory.keep_parts();
        write(&part(&names[0]), "second");
        directory.keep_part(&one);
        directory.keep_part(&other);
        let expected = [
            (hook.clone(), "of a hook"),
            (format!("{}.1.json", names[0]), "first"),
            (format!("{}.2.json", names[0]), "second"),
            (format!("{}.1.json", names[1]), "other"),
        ];
        assert_eq!(scratch.texts(), expected.map(|(name, text)| (name, text.to_owned())));
    }

    #[test]
    fn a_recording_that_ended_early_does_not_count_as_that_of_its_container() {
        let scratch = Scratch::new("cut");
        let directory = NodeDirectory::open(&scratch.0).unwrap();
        let container = container("web");
        for number in 1..=2 {
            fs::write(directory.file(&container), number.to_string()).unwrap();
            let kept = directory.keep_cut(&container);
            assert!(!directory.file(&container).exists());
            assert!(kept.ends_with(format!("{}.{number}.json", container.file_stem())), "{kept:?}");
            assert_eq!(fs::read_to_string(kept).unwrap(), number.to_string());
        }
    }

    #[test]
    fn recordings_are_limited_with_those_that_are_being_made() {
        let scratch = Scratch::new("limit");
        let directory = NodeDirectory::open(&scratch.0).unwrap();
        for name in ["a.json", "b.1.json", "c.json.partial", ".callgate-0"] {
            fs::write(scratch.0.join(name), "").unwrap();
        }
        assert!(!directory.is_full(0) && !directory.is_full(MAX_FILES - 3));
        assert!(directory.is_full(MAX_FILES - 2));
    }
}
