//! Generates the tables, and writes or compares them.

use std::fs;
use std::path::PathBuf;

use callgate_tasks::{Result, workspace};

use super::sources::{self, Sources};
use super::stale::{explain, stale};
use super::{fetch, headers, manpage, prototype, render};
use crate::generator_options::GeneratorOptions;

/// The default directory of the sources.
fn default_sources() -> PathBuf {
    workspace().join("target/syscall-sources")
}

/// Runs the task.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = GeneratorOptions::parse(arguments, &["--headers"])?;
    let directory = options.sources.unwrap_or_else(default_sources);
    if options.fetch || !sources::complete(&directory) {
        fetch::fetch(&directory)?;
    }
    let sources =
        Sources::load(&directory, options.directories.first().and_then(Option::as_deref))?;
    let output = workspace().join("crates/callgate-bpf/src/syscalls/generated");
    let changes = stale(&output, &generate(&sources)?);
    if options.check {
        return match changes.as_slice() {
            [] => {
                println!("the generated files are current ({})", sources.summary());
                Ok(())
            }
            files => Err(explain(files, &sources.summary(), "syscalls")),
        };
    }
    for file in &changes {
        fs::create_dir_all(&output).map_err(|e| format!("{}: {e}", output.display()))?;
        fs::write(&file.path, &file.wanted).map_err(|e| format!("{}: {e}", file.path.display()))?;
        println!("wrote {}", file.path.display());
    }
    println!("{} of the generated files changed ({})", changes.len(), sources.summary());
    Ok(())
}

/// The generated files: name and text.
fn generate(sources: &Sources) -> Result<Vec<(&'static str, String)>> {
    let tables = headers::read(&sources.headers)?;
    let versions = manpage::read(&sources.manpage)?;
    let prototypes = prototype::read_formats(&sources.formats)?;
    let mut elsewhere = headers::names_of_all(&sources.headers)?;
    elsewhere.extend(versions.keys().cloned());
    elsewhere.retain(|name| !tables.calls.contains_key(name));
    Ok(vec![
        ("table.rs", render::table(sources, &tables, &elsewhere, &versions, &prototypes)?),
        ("multiplexed.rs", render::multiplexed(sources, &headers::multiplexed(&sources.headers)?)),
    ])
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    /// The sources are too large to commit, so this runs only if they were downloaded: to
    /// `CALLGATE_SYSCALL_SOURCES`, or to the default directory of `cargo xtask syscalls`.
    #[test]
    fn regenerating_changes_nothing() {
        let given = std::env::var_os("CALLGATE_SYSCALL_SOURCES").map(PathBuf::from);
        let directory = given.clone().unwrap_or_else(default_sources);
        if given.is_none() && !sources::complete(&directory) {
            // Not eprintln!, whose output is shown only if a test fails.
            let place = directory.display();
            writeln!(
                std::io::stderr(),
                "not run: no sources in {place}; `cargo xtask syscalls --check` fetches them"
            )
            .unwrap();
            return;
        }
        let sources = Sources::load(&directory, None).unwrap();
        let output = workspace().join("crates/callgate-bpf/src/syscalls/generated");
        let changes = stale(&output, &generate(&sources).unwrap());
        assert!(changes.is_empty(), "{}", explain(&changes, &sources.summary(), "syscalls"));
    }
}
