//! Generates the table, and writes or compares it.

use std::fs;

use callgate_tasks::{Result, workspace};

use super::fetch::{Sources, fetch};
use super::{compile, internal, library, render};
use crate::generator_options::GeneratorOptions;
use crate::syscalls::headers::COLUMNS;
use crate::syscalls::sources::kernel_of_headers;
use crate::syscalls::stale::{explain, stale};

/// Runs the task.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = GeneratorOptions::parse(arguments, &[])?;
    let directory = options.sources.unwrap_or_else(|| workspace().join("target/constant-sources"));
    if options.fetch || Sources::find(&directory).is_none() {
        fetch(&directory)?;
    }
    let sources = Sources::find(&directory)
        .ok_or_else(|| format!("{}: the unpacked headers are incomplete", directory.display()))?;
    let kernel = kernel_of_headers(&sources.uapi)?;
    let internal = internal::header(&sources.internal)?;
    let columns = COLUMNS.iter().map(|column| compile::values(&sources.uapi, &internal, column));
    let columns = columns.collect::<Result<Vec<_>>>()?;
    let table = render::table(&columns, &kernel);
    let summary = format!("headers of Linux {kernel}, {} constants", table.lines().count() - 2);
    let output = workspace().join("crates/callgate-bpf/src/constants/generated");
    let changes = stale(&output, &[("constants.txt", table)]);
    if options.check {
        return match changes.as_slice() {
            [] => {
                println!("the generated file is current ({summary})");
                let same = library::check(&directory)?;
                println!("{same} of them have the same value in this machine's C library");
                Ok(())
            }
            files => Err(explain(files, &summary, "constants")),
        };
    }
    for file in &changes {
        fs::create_dir_all(&output).map_err(|e| format!("{}: {e}", output.display()))?;
        fs::write(&file.path, &file.wanted).map_err(|e| format!("{}: {e}", file.path.display()))?;
        println!("wrote {}", file.path.display());
    }
    println!("{} of 1 generated files changed ({summary})", changes.len());
    Ok(())
}
