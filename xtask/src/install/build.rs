//! Builds the libraries.

use std::path::{Path, PathBuf};
use std::process::Command;

use callgate_eval::{Result, files, workspace};

/// The libraries of a build.
pub(super) struct Built {
    pub(super) shared: PathBuf,
    pub(super) archive: PathBuf,
}

/// Builds both libraries with the profile `library`, for this machine or another target.
///
/// The crate types are given here because Cargo ignores `lto` if one of them is `rlib`. Without it, the archive would define
/// thousands of symbols.
pub(super) fn build(target: Option<&str>) -> Result<Built> {
    let root = workspace();
    let directory = root.join("target");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(&root)
        .args(["rustc", "--locked", "--package", "callgate-seccomp", "--lib"])
        .args(["--profile", "library", "--crate-type", "cdylib,staticlib", "--target-dir"])
        .arg(&directory);
    let mut output = directory;
    if let Some(target) = target {
        cargo.args(["--target", target]);
        output.push(target);
    }
    output.push("library");
    let status = cargo.status().map_err(|error| format!("cargo: {error}"))?;
    if !status.success() {
        return Err(format!("cargo rustc --package callgate-seccomp: {status}"));
    }
    let built =
        Built { shared: output.join("libseccomp.so"), archive: output.join("libseccomp.a") };
    strip(&built.archive)?;
    Ok(built)
}

/// Removes the debug information of Rust's standard library, which is half of the archive. The profile strips only the
/// shared library.
fn strip(archive: &Path) -> Result<()> {
    let rustc = |what| files::run(Command::new("rustc").args(["--print", what]));
    // The toolchain's tool knows all machines; `strip` may know only this one.
    let libraries = PathBuf::from(rustc("target-libdir")?.trim());
    let mut tool = Command::new(libraries.with_file_name("bin").join("rust-objcopy"));
    tool.env("LD_LIBRARY_PATH", PathBuf::from(rustc("sysroot")?.trim()).join("lib"));
    files::run(tool.arg("--strip-debug").arg(archive)).map(drop)
}
