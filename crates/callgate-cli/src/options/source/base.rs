//! `--base [NAME=]FILE`: the file of a base profile.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// The file of a base profile.
#[derive(Clone, Debug)]
pub(crate) struct BaseFile {
    /// The `baseProfileName` for which it is; `None` for that of the source.
    name: Option<String>,
    path: PathBuf,
    /// Whether a source was read with it. Copies of the option share it.
    is_used: Arc<AtomicBool>,
}

impl BaseFile {
    /// Parses `[NAME=]FILE`. A name has no slash, except after `oci://`, so that `./a=b.yaml` is a file.
    pub(super) fn parse(text: OsString) -> BaseFile {
        let bytes = text.as_bytes();
        let named = bytes.iter().position(|byte| *byte == b'=').and_then(|at| {
            let name = std::str::from_utf8(&bytes[..at]).ok()?;
            let is_name = !name.is_empty() && (name.starts_with("oci://") || !name.contains('/'));
            is_name.then(|| (name.to_owned(), OsStr::from_bytes(&bytes[at + 1..])))
        });
        let (name, path) = match named {
            Some((name, path)) => (Some(name), PathBuf::from(path)),
            None => (None, PathBuf::from(&text)),
        };
        BaseFile { name, path, is_used: Arc::default() }
    }

    /// The file, if it is for this `baseProfileName`: in the source, or in one of its base profiles.
    pub(super) fn for_name(&self, name: &str, is_in_source: bool) -> Option<&Path> {
        let matches = match &self.name {
            Some(own) => own == name,
            None => is_in_source,
        };
        matches.then(|| {
            self.is_used.store(true, Ordering::Relaxed);
            self.path.as_path()
        })
    }

    pub(super) fn has_name(&self) -> bool {
        self.name.is_some()
    }

    /// Whether no source was read with it.
    pub(super) fn is_unused(&self) -> bool {
        !self.is_used.load(Ordering::Relaxed)
    }

    /// The value as on the command line.
    pub(super) fn value(&self) -> String {
        let path = self.path.display();
        self.name.as_ref().map_or_else(|| path.to_string(), |name| format!("{name}={path}"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_base_file_may_have_a_name() {
        for (text, name, path) in [
            ("base.yaml", None, "base.yaml"),
            ("runc-v1.2=base.yaml", Some("runc-v1.2"), "base.yaml"),
            ("oci://ghcr.io/runc:v1=a=b", Some("oci://ghcr.io/runc:v1"), "a=b"),
            ("./a=b.yaml", None, "./a=b.yaml"),
            ("=b", None, "=b"),
        ] {
            let file = BaseFile::parse(text.into());
            assert_eq!((file.name.as_deref(), file.path.to_str()), (name, Some(path)), "{text}");
            assert_eq!(file.value(), text);
        }
    }

    #[test]
    fn a_base_file_without_a_name_is_for_the_source() {
        let (named, other) = (BaseFile::parse("a=b".into()), BaseFile::parse("b".into()));
        assert_eq!(named.for_name("b", true), None);
        assert!(named.is_unused());
        assert_eq!(named.for_name("a", false), Some(Path::new("b")));
        assert!(!named.is_unused());
        assert_eq!(other.for_name("a", false), None);
        assert!(other.is_unused() && other.for_name("a", true).is_some());
    }
}
