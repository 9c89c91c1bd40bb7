//! Builds this workspace's `libseccomp.so.2`.

use std::path::PathBuf;
use std::process::Command;

use crate::task::{Result, workspace};

/// Builds `libseccomp.so` and `libseccomp.a` with the profile `library`, for this machine or another target. Returns the
/// directory with both.
///
/// The crate types are given here because Cargo ignores `lto` if one of them is `rlib`. Without it, the archive would define
/// thousands of symbols.
///
/// # Errors
/// If Cargo fails.
pub fn build(target: Option<&str>) -> Result<PathBuf> {
    let root = workspace();
    let mut output = root.join("target");
    let order = root.join("crates/callgate-seccomp/order.ld");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(&root)
        .args(["rustc", "--locked", "--package", "callgate-seccomp", "--lib"])
        .args(["--profile", "library", "--crate-type", "cdylib,staticlib", "--target-dir"])
        .arg(&output);
    if let Some(target) = target {
        cargo.args(["--target", target]);
        output.push(target);
    }
    cargo.args(["--", "-C", &format!("link-arg=-Wl,--script={}", order.display())]);
    let status = cargo.status().map_err(|error| format!("cargo: {error}"))?;
    if !status.success() {
        return Err(format!("cargo rustc --package callgate-seccomp: {status}"));
    }
    output.push("library");
    Ok(output)
}

/// Builds the shared library for this machine, and returns its path.
pub(crate) fn build_shared() -> Result<PathBuf> {
    Ok(build(None)?.join("libseccomp.so"))
}
