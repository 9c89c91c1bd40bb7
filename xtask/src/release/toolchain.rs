//! The Rust toolchain, and other programs of this system.

use std::path::Path;
use std::process::Command;

use callgate_tasks::Result;
use callgate_tasks::files::run;

use super::context::{Context, Libc, Machine, execute};
use crate::paths::remap;

/// Installs Rust's standard library for a target, if it is missing.
pub(super) fn add_target(target: &str) -> Result<()> {
    let directory =
        run(Command::new("rustc").args(["--print", "target-libdir", "--target", target]))?;
    match Path::new(directory.trim()).exists() {
        true => Ok(()),
        false => execute(Command::new("rustup").args(["target", "add", target])),
    }
}

/// The C compiler for a machine, which also links Rust's libraries: that of Debian's package `gcc` or `gcc-aarch64-linux-gnu`.
pub(super) fn c_compiler(machine: Machine) -> String {
    format!("{}-linux-gnu-gcc", machine.name)
}

/// Prepares a build of a library for programs with glibc: its target, and what rustc needs for it.
pub(super) fn for_glibc(context: &Context, machine: Machine) -> Result<(String, Vec<String>)> {
    let target = machine.target(Libc::Glibc);
    add_target(&target)?;
    let mut flags = remap(&context.root)?;
    flags.push(format!("-Clinker={}", c_compiler(machine)));
    Ok((target, flags))
}

/// Whether a program is in the `PATH`.
pub(super) fn is_installed(program: &str) -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    std::env::split_paths(&path).any(|directory| directory.join(program).is_file())
}

/// The first line with which each tool says its version, of those that are installed: other versions may make other bytes.
/// `MANIFEST.txt` has the pinned ones besides.
pub(super) fn versions() -> String {
    let python = std::env::var("PYTHON").unwrap_or_else(|_| "python3".to_owned());
    [
        &["rustc", "--version"][..],
        &["gcc", "--version"],
        &["aarch64-linux-gnu-gcc", "--version"],
        &["dpkg-deb", "--version"],
        &["gzip", "--version"],
        &["tar", "--version"],
        &["jq", "--version"],
        &["buildah", "--version"],
        &[&python, "--version"],
        &["go", "version"],
        &["node", "--version"],
        &["npm", "--version"],
        &["git", "--version"],
    ]
    .iter()
    .filter_map(|words| {
        let text = run(Command::new(words[0]).args(&words[1..])).ok()?;
        let name = Path::new(words[0]).file_name()?.display();
        Some(format!("{name:<22} {}\n", text.lines().next()?))
    })
    .collect()
}
