//! Builds modules.

use std::path::{Path, PathBuf};
use std::process::Command;

use callgate_tasks::files::read;
use callgate_tasks::{Result, workspace};

use crate::paths::remap;

/// A module.
pub(crate) struct Module {
    /// The example of `callgate-requests` that it is.
    pub(crate) example: &'static str,
    /// The profile of cargo.
    pub(crate) profile: &'static str,
    /// The maximum size in bytes.
    pub(crate) max_size: usize,
    /// Its own flags of the compiler.
    pub(crate) flags: &'static [&'static str],
}

/// The module of the bindings, at most 3 MiB.
pub(crate) const BINDINGS: Module = Module {
    example: "bindings_module",
    profile: "wasm",
    max_size: 3 << 20,
    // No request writes a policy.
    flags: &["--cfg=callgate_reads_only"],
};
/// The same for tests, which need no small module.
pub(super) const QUICK: Module = Module { profile: "wasm-quick", max_size: 8 << 20, ..BINDINGS };

/// The maximum memory of an instance in bytes. Docker's default profile takes 3 MiB; the budget of a diagram takes
/// at most 100 MB.
const MAX_MEMORY: u64 = 512 << 20;

/// The directory for what is built.
pub(crate) fn target() -> PathBuf {
    match std::env::var_os("CARGO_TARGET_DIR") {
        // As Cargo in the root of the tree, where tasks run it.
        Some(directory) => workspace().join(directory),
        None => workspace().join("target"),
    }
}

/// Builds a module.
pub(crate) fn build(wanted: &Module) -> Result<Vec<u8>> {
    let (root, directory) = (workspace(), target());
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(&root)
        .args(["build", "--locked", "--package", "callgate-requests"])
        .args(["--example", wanted.example])
        .args(["--features", "module", "--profile", wanted.profile])
        .args(["--target", "wasm32-unknown-unknown", "--target-dir"])
        .arg(&directory)
        // Separated by 0x1f, so that paths may have blanks.
        .env("CARGO_ENCODED_RUSTFLAGS", flags(&root, wanted.flags)?.join("\u{1f}"));
    let status = cargo.status().map_err(|error| format!("cargo: {error}"))?;
    if !status.success() {
        return Err(format!(
            "cargo build --package callgate-requests --example {}: {status}; the target is installed by \
             `rustup target add wasm32-unknown-unknown`",
            wanted.example
        ));
    }
    let built = directory.join("wasm32-unknown-unknown").join(wanted.profile);
    let module = read(&built.join(format!("examples/{}.wasm", wanted.example)))?;
    if module.len() > wanted.max_size {
        let (size, max) = (module.len(), wanted.max_size);
        return Err(format!("the module has {size} bytes, the maximum is {max}"));
    }
    Ok(module)
}

/// The flags of the compiler: no paths of this machine in messages of panics, a limit of memory, and those of a module.
fn flags(root: &Path, own: &[&str]) -> Result<Vec<String>> {
    let mut flags = remap(root)?;
    flags.extend(own.iter().map(|flag| (*flag).to_owned()));
    flags.push(format!("-Clink-arg=--max-memory={MAX_MEMORY}"));
    Ok(flags)
}
