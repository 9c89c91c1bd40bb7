//! The library under test.

use std::fs;
use std::path::{Path, PathBuf};

use callgate_tasks::Result;
use callgate_tasks::c_library;
use callgate_tasks::files::make;

/// The name by which programs find the library.
pub(super) const SONAME: &str = "libseccomp.so.2";

/// Copies the library to the directory `lib` of `work`, so that it stays the same for all tests; returns the path
/// of the original.
pub(super) fn prepare(library: Option<&Path>, work: &Path) -> Result<PathBuf> {
    let library = match library {
        Some(library) => library.to_owned(),
        None => c_library::build_shared()?,
    };
    let target = work.join("lib");
    make(&target)?;
    fs::copy(&library, target.join(SONAME))
        .map_err(|error| format!("{}: {error}", library.display()))?;
    Ok(library)
}
