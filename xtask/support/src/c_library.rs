//! Builds the libraries for C of this workspace.

use std::path::PathBuf;
use std::process::Command;

use crate::task::{Result, workspace};

/// A package that is a library for C.
#[derive(Debug, Clone, Copy)]
pub struct Library {
    /// The package.
    pub package: &'static str,
    /// What Cargo calls the library, without `lib` and the extension.
    pub cargo_name: &'static str,
    /// What linkers of other programs write in them, such as `libseccomp.so.2`.
    pub soname: &'static str,
    /// The profile of Cargo: `library`, or `command` where size matters more than the time of all functions.
    profile: &'static str,
    /// A linker script of the package that orders its functions.
    order: Option<&'static str>,
    /// Whether the shared library has a copy of the unwinder, for the panics that it catches, instead of needing
    /// `libgcc_s.so.1`. Processes that use no other library which needs that load one library less, a third of the time.
    pub own_unwinder: bool,
}

/// The library with the interface of libseccomp. Its build script sets the SONAME, for a plain `cargo build`.
pub const LIBSECCOMP: Library = Library {
    package: "callgate-seccomp",
    cargo_name: "seccomp",
    soname: "libseccomp.so.2",
    profile: "library",
    order: Some("order.ld"),
    own_unwinder: true,
};

/// The library with Callgate's own interface.
pub const LIBCALLGATE: Library = Library {
    package: "callgate-c",
    cargo_name: "callgate_c",
    soname: "libcallgate.so.0",
    profile: "command",
    order: None,
    own_unwinder: false,
};

/// Both forms of a library.
#[derive(Debug)]
pub struct Built {
    /// The shared library.
    pub shared: PathBuf,
    /// The archive for static programs.
    pub archive: PathBuf,
}

/// Builds a library, for this machine or another target. `flags` for rustc replace those of the
/// environment unless there are none.
///
/// The crate types are given here because Cargo ignores `lto` if one of them is `rlib`. Without it, the archive would define
/// thousands of symbols.
///
/// # Errors
/// If Cargo fails.
pub fn build(library: &Library, target: Option<&str>, flags: &[String]) -> Result<Built> {
    let root = workspace();
    let mut output = root.join("target");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(&root)
        .args(["rustc", "--locked", "--package", library.package, "--lib"])
        .args(["--profile", library.profile, "--crate-type", "cdylib,staticlib", "--target-dir"])
        .arg(&output);
    if let Some(target) = target {
        cargo.args(["--target", target]);
        output.push(target);
    }
    if !flags.is_empty() {
        // Separated by 0x1f, so that paths may have blanks.
        cargo.env("CARGO_ENCODED_RUSTFLAGS", flags.join("\u{1f}"));
    }
    let linker_arguments = linker_arguments(library, target);
    cargo.arg("--").args(linker_arguments.iter().map(|word| format!("-Clink-arg=-Wl,{word}")));
    if library.own_unwinder && target.is_none_or(|target| target.ends_with("linux-gnu")) {
        cargo.arg("-lstatic:-bundle=gcc_eh");
    }
    let status = cargo.status().map_err(|error| format!("cargo: {error}"))?;
    if !status.success() {
        return Err(format!("cargo rustc --package {}: {status}", library.package));
    }
    output.push(library.profile);
    let file = |extension| output.join(format!("lib{}.{extension}", library.cargo_name));
    Ok(Built { shared: file("so"), archive: file("a") })
}

/// Paths are relative to the root of the tree, where Cargo starts compilers.
fn linker_arguments(library: &Library, target: Option<&str>) -> Vec<String> {
    let mut words = vec![format!("-soname,{}", library.soname)];
    // Elsewhere, linkers may place these sections in other segments.
    let arch = target.unwrap_or(std::env::consts::ARCH);
    let knows_segments = ["x86_64", "aarch64"].iter().any(|known| arch.starts_with(known));
    if let Some(script) = library.order.filter(|_| knows_segments) {
        words.push(format!("--script=crates/{}/{script}", library.package));
    }
    words
}

/// Builds `libseccomp.so` for this machine, and returns its path.
///
/// # Errors
/// If Cargo fails.
pub fn build_shared() -> Result<PathBuf> {
    Ok(build(&LIBSECCOMP, None, &[])?.shared)
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
