//! The list of what a release contains.

use std::fs;
use std::process::Command;

use callgate_tasks::Result;
use callgate_tasks::files::{run, write};

use super::context::Context;
use super::parts::Artefact;

/// Writes `MANIFEST.txt`, a table of all files with their sizes, and `SHA256SUMS`.
pub(super) fn write_all(context: &Context, artefacts: &[Artefact]) -> Result<()> {
    let mut artefacts = artefacts.to_vec();
    artefacts.sort();
    let mut table = format!(
        "Callgate {}\n\n{:>10}  {:<8} {:<58} what\n",
        context.version, "bytes", "machine", "file"
    );
    for Artefact { path, what, machine } in &artefacts {
        let file = context.output.join(path);
        let bytes = fs::metadata(&file).map_err(|error| format!("{path}: {error}"))?.len();
        table += &format!("{bytes:>10}  {:<8} {path:<58} {what}\n", machine.unwrap_or("any"));
    }
    write(&context.output.join("MANIFEST.txt"), &table)?;
    let mut sums = Command::new("sha256sum");
    sums.current_dir(&context.output).arg("--");
    sums.args(artefacts.iter().map(|artefact| &artefact.path)).arg("MANIFEST.txt");
    write(&context.output.join("SHA256SUMS"), run(&mut sums)?)?;
    print!("{table}");
    Ok(())
}
