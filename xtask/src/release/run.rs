//! Builds and checks the parts.

use std::process::Command;
use std::time::Instant;

use callgate_tasks::files::{remove, run as output};
use callgate_tasks::{Result, workspace};

use super::context::{Built, Context};
use super::manifest;
use super::options::Options;
use super::parts::PARTS;

/// Runs the task.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let Some(options) = Options::parse(arguments)? else {
        for part in PARTS {
            println!("{:<12} {}", part.name, part.summary);
        }
        return Ok(());
    };
    let expected = env!("CARGO_PKG_VERSION");
    if options.version != expected {
        let given = &options.version;
        return Err(format!(
            "{given}: Cargo.toml has version {expected}; change it and commit first"
        ));
    }
    clean()?;
    let mut context = Context::new(options.version, options.machines)?;
    remove(&context.output)?;
    let mut artefacts = Vec::new();
    for part in &options.parts {
        let start = Instant::now();
        println!("== {}: {}", part.name, part.summary);
        let failed = |error: String| format!("{}: {error}", part.name);
        for artefact in (part.build)(&context).map_err(failed)? {
            let (path, machine) = (artefact.path.clone(), artefact.machine);
            context.built.push(Built { part: part.name, path, machine });
            artefacts.push(artefact);
        }
        let built = start.elapsed().as_secs();
        if options.check {
            (part.check)(&context).map_err(failed)?;
        }
        let checked = start.elapsed().as_secs() - built;
        println!("== {}: built in {built} s, checked in {checked} s", part.name);
    }
    manifest::write_all(&context, &artefacts)
}

/// Fails if files differ from the commit: nobody could build the same again.
fn clean() -> Result<()> {
    let mut git = Command::new("git");
    git.current_dir(workspace()).args(["status", "--porcelain"]);
    let changed = output(&mut git)?;
    match changed.lines().next() {
        None => Ok(()),
        Some(first) => Err(format!("{first}: not committed; a release is that of a commit")),
    }
}
