//! Builds this workspace's `libseccomp.so.2`.

use std::path::PathBuf;
use std::process::Command;

use crate::task::{Result, workspace};

/// Builds the library as it is released, and returns its path.
pub(crate) fn build() -> Result<PathBuf> {
    let status = Command::new(env!("CARGO"))
        .args(["build", "--profile", "library", "--quiet", "-p", "callgate-seccomp"])
        .current_dir(workspace())
        .status();
    match status {
        Ok(status) if status.success() => Ok(workspace().join("target/library/libseccomp.so")),
        _ => Err("cannot build callgate-seccomp".to_owned()),
    }
}
