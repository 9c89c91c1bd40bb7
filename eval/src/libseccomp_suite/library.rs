//! The library under test.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::files::make;
use crate::task::{Result, workspace};

/// The name by which programs find the library.
pub(super) const SONAME: &str = "libseccomp.so.2";

/// Copies the library to the directory `lib` of `work`, so that it stays the same for all tests; returns the path
/// of the original.
pub(super) fn prepare(library: Option<&Path>, work: &Path) -> Result<PathBuf> {
    let library = match library {
        Some(library) => library.to_owned(),
        None => build()?,
    };
    let target = work.join("lib");
    make(&target)?;
    fs::copy(&library, target.join(SONAME))
        .map_err(|error| format!("{}: {error}", library.display()))?;
    Ok(library)
}

/// Builds our own library.
fn build() -> Result<PathBuf> {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet", "-p", "callgate-seccomp"])
        .current_dir(workspace())
        .status();
    match status {
        Ok(status) if status.success() => Ok(workspace().join("target/release/libseccomp.so")),
        _ => Err("cannot build callgate-seccomp; --library PATH tests another library".to_owned()),
    }
}
