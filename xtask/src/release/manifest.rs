//! The list of what a release contains.

use std::fs;
use std::path::Path;
use std::process::Command;

use callgate_tasks::Result;
use callgate_tasks::files::{run, write};

use super::context::Context;
use super::npm::BINARYEN;
use super::parts::Artefact;
use super::toolchain::versions;
use super::{python, sbom};

/// Writes `MANIFEST.txt`, a table of all files with their sizes, and `SHA256SUMS`.
pub(super) fn write_all(context: &Context, artefacts: &[Artefact]) -> Result<()> {
    let mut artefacts = artefacts.to_vec();
    artefacts.sort_by(|a, b| a.path.cmp(&b.path));
    let mut table = format!(
        "Callgate {}\n\n{:>10}  {:<8} {:<58} what\n",
        context.version, "bytes", "machine", "file"
    );
    for Artefact { path, what, machine } in &artefacts {
        let file = context.output.join(path);
        let bytes = fs::metadata(&file).map_err(|error| format!("{path}: {error}"))?.len();
        table += &format!(
            "{bytes:>10}  {:<8} {path:<58} {what}\n",
            machine.map_or("any", |machine| machine.name)
        );
    }
    check_complete(&context.output, &artefacts)?;
    table += &format!("\nbuilt with\n{}{}", versions(), pinned_versions(&context.root)?);
    write(&context.output.join("MANIFEST.txt"), &table)?;
    let mut sums = Command::new("sha256sum");
    sums.current_dir(&context.output).arg("--");
    sums.args(artefacts.iter().map(|artefact| &artefact.path)).arg("MANIFEST.txt");
    write(&context.output.join("SHA256SUMS"), run(&mut sums)?)?;
    print!("{table}");
    Ok(())
}

/// The versions of the tools that a release installs itself, from where they are pinned: of those that decide its bytes.
fn pinned_versions(root: &Path) -> Result<String> {
    let (binaryen, version) = BINARYEN.split_once('@').unwrap_or((BINARYEN, "any version"));
    let mut text = String::new();
    for (tool, version) in [
        ("maturin", python::pinned(root, "maturin")?),
        ("ziglang", python::pinned(root, "ziglang")?),
        (binaryen, version.to_owned()),
        ("cargo-cyclonedx", sbom::TOOL.to_owned()),
    ] {
        text += &format!("{tool:<22} {version}\n");
    }
    Ok(text)
}

/// Fails if a file is not listed: it would have no checksum.
fn check_complete(output: &Path, artefacts: &[Artefact]) -> Result<()> {
    let mut open = vec![output.to_owned()];
    while let Some(directory) = open.pop() {
        let failed = |error| format!("{}: {error}", directory.display());
        for entry in fs::read_dir(&directory).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            if path.is_dir() {
                open.push(path);
            } else if !artefacts.iter().any(|artefact| output.join(&artefact.path) == path) {
                return Err(format!("{}: no part lists this file", path.display()));
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use callgate_tasks::workspace;

    use super::*;

    #[test]
    fn tools_that_a_release_installs_are_listed_with_their_pinned_versions() {
        let text = pinned_versions(&workspace()).unwrap();
        for tool in ["maturin", "ziglang", "binaryen", "cargo-cyclonedx"] {
            let line = text.lines().find(|line| line.split_whitespace().next() == Some(tool));
            let version = line.and_then(|line| line.split_whitespace().nth(1)).unwrap();
            assert!(version.starts_with(|first: char| first.is_ascii_digit()), "{text}");
        }
        assert!(python::pinned(&workspace(), "lost").is_err());
    }
}
