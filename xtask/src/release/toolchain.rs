//! The Rust toolchain.

use std::path::Path;
use std::process::Command;

use callgate_tasks::Result;
use callgate_tasks::files::run;

use super::context::{Machine, execute};

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
