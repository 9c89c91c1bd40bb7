//! Paths of this machine, which nothing that is built may contain.

use std::path::{Path, PathBuf};
use std::process::Command;

use callgate_tasks::{Result, files};

/// Flags of rustc that write fixed names in place of the directories of the tree, of Cargo and of the toolchain.
pub(crate) fn remap(root: &Path) -> Result<Vec<String>> {
    let home = cargo_home()?;
    let sysroot = files::run(Command::new("rustc").args(["--print", "sysroot"]))?;
    // Cargo makes the directories of registries when it first unpacks a dependency.
    if !home.join("registry/src").is_dir() {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["fetch", "--quiet", "--locked", "--manifest-path"]);
        files::run(cargo.arg(root.join("Cargo.toml")))?;
    }
    let remap = |from: &Path, to: &str| format!("--remap-path-prefix={}={to}", from.display());
    let mut flags = vec![
        remap(root, "/callgate"),
        remap(&home, "/cargo"),
        remap(Path::new(sysroot.trim()), "/rust"),
    ];
    // The directories of dependencies have the name of their registry. The last prefix that matches counts.
    if let Ok(registries) = std::fs::read_dir(home.join("registry/src")) {
        let mut registries: Vec<PathBuf> = registries.flatten().map(|one| one.path()).collect();
        // Other flags, or another order, would build everything again.
        registries.sort_by(|a, b| b.cmp(a));
        flags.extend(registries.iter().map(|path| remap(path, "/cargo/registry")));
    }
    Ok(flags)
}

/// The directory in which Cargo keeps the sources of dependencies.
pub(crate) fn cargo_home() -> Result<PathBuf> {
    Ok(match std::env::var_os("CARGO_HOME") {
        Some(home) => PathBuf::from(home),
        None => PathBuf::from(std::env::var_os("HOME").ok_or("HOME is not set")?).join(".cargo"),
    })
}
