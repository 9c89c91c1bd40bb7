//! Builds the libraries.

use std::path::{Path, PathBuf};
use std::process::Command;

use callgate_tasks::{Result, c_library, files};

/// The libraries of a build.
pub(super) struct Built {
    pub(super) shared: PathBuf,
    pub(super) archive: PathBuf,
}

/// Builds both libraries, for this machine or another target.
pub(super) fn build(target: Option<&str>) -> Result<Built> {
    let output = c_library::build(target)?;
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
