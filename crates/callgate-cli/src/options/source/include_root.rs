//! `--include-root DIR`: the root of the file system to which absolute paths of included files belong.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A directory below which absolute paths are.
#[derive(Clone, Debug)]
pub(crate) struct IncludeRoot {
    path: PathBuf,
    /// Whether an absolute path was looked up in it. Copies of the option share it.
    is_used: Arc<AtomicBool>,
}

impl IncludeRoot {
    pub(super) fn parse(text: OsString) -> IncludeRoot {
        IncludeRoot { path: PathBuf::from(text), is_used: Arc::default() }
    }

    /// The directory, which is used from now on.
    pub(super) fn path(&self) -> &Path {
        self.is_used.store(true, Ordering::Relaxed);
        &self.path
    }

    /// Whether no absolute path was looked up in it.
    pub(super) fn is_unused(&self) -> bool {
        !self.is_used.load(Ordering::Relaxed)
    }

    /// The value as on the command line.
    pub(super) fn value(&self) -> String {
        self.path.display().to_string()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_know_that_a_root_is_used() {
        let root = IncludeRoot::parse("sysroot".into());
        let copy = root.clone();
        assert!(root.is_unused());
        assert_eq!((copy.path(), copy.value()), (Path::new("sysroot"), "sysroot".to_owned()));
        assert!(!root.is_unused());
    }
}
