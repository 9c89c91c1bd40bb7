//! The list of what a release contains.

use std::fs;
use std::path::Path;
use std::process::Command;

use callgate_tasks::Result;
use callgate_tasks::files::{run, write};

use super::context::Context;
use super::parts::Artefact;
use super::toolchain::versions;

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
    table += &format!("\nbuilt with\n{}", versions());
    write(&context.output.join("MANIFEST.txt"), &table)?;
    let mut sums = Command::new("sha256sum");
    sums.current_dir(&context.output).arg("--");
    sums.args(artefacts.iter().map(|artefact| &artefact.path)).arg("MANIFEST.txt");
    write(&context.output.join("SHA256SUMS"), run(&mut sums)?)?;
    print!("{table}");
    Ok(())
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
