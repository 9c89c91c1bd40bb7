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
    // Elsewhere, linkers may place these sections in other segments.
    let arch = target.unwrap_or(std::env::consts::ARCH);
    if ["x86_64", "aarch64"].iter().any(|known| arch.starts_with(known)) {
        cargo.args(["--", "-C", &format!("link-arg=-Wl,--script={}", order.display())]);
    }
    let status = cargo.status().map_err(|error| format!("cargo: {error}"))?;
    if !status.success() {
        return Err(format!("cargo rustc --package callgate-seccomp: {status}"));
    }
    output.push("library");
    Ok(output)
}

/// Builds the shared library for this machine, and returns its path.
pub fn build_shared() -> Result<PathBuf> {
    Ok(build(None)?.join("libseccomp.so"))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A pattern without a module would match nothing.
    #[test]
    fn the_modules_of_the_order_exist() {
        let root = workspace().join("crates");
        let order = std::fs::read_to_string(root.join("callgate-seccomp/order.ld")).unwrap();
        let mut modules = 0;
        for pattern in order.split(".text.*").skip(1) {
            let Some((pattern, _)) = pattern.split_once('*') else { continue };
            let mut rest = pattern;
            let mut path = Vec::new();
            while let Some(end) = rest.find(|letter: char| !letter.is_ascii_digit()) {
                let Ok(len) = rest[..end].parse::<usize>() else { break };
                path.push(&rest[end..end + len]);
                rest = &rest[end + len..];
            }
            let Some((first, others)) = path.split_first() else { continue };
            assert_eq!(rest, "", "{pattern}");
            // The last component of a path without a crate is a module of this crate.
            let source = match *first {
                "hashbrown" | "btree" | "raw_vec" => continue,
                "seccomp" => root.join("callgate-seccomp/src"),
                "ruleset" => root.join("callgate-formats/src/ruleset"),
                name => root.join(name.replace('_', "-")).join("src"),
            };
            let module = others.iter().fold(source, |path, module| path.join(module));
            let is_module = module.is_dir() || module.with_extension("rs").is_file();
            // The last component may be a function.
            let file = module.parent().map(|parent| parent.with_extension("rs"));
            let file = file.and_then(|file| std::fs::read_to_string(file).ok()).unwrap_or_default();
            let function = format!("fn {}", others.last().unwrap_or(first));
            let is_function =
                file.split(&function).skip(1).any(|rest| rest.starts_with(['(', '<']));
            assert!(is_module || is_function, "{pattern}");
            modules += 1;
        }
        assert!(modules > 15, "{modules}");
    }
}
