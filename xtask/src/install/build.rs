//! Builds and checks a library.

use std::path::{Path, PathBuf};
use std::process::Command;

use callgate_tasks::c_library::{self, Built};
use callgate_tasks::files::{self, read};
use callgate_tasks::{Result, workspace};

use super::elf;
use super::library::Library;

/// Builds both forms, for this machine or another target, with these flags of rustc if there are any.
pub(super) fn build(library: &Library, target: Option<&str>, flags: &[String]) -> Result<Built> {
    let built = c_library::build(&library.build, target, flags)?;
    strip(&built.archive)?;
    let header = read(&headers(library).join(library.headers[0]))?;
    elf::check(library, &built.shared, &String::from_utf8_lossy(&header))?;
    Ok(built)
}

/// The directory of the headers.
pub(super) fn headers(library: &Library) -> PathBuf {
    workspace().join("crates").join(library.build.package).join("include")
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
