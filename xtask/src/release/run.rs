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
    if context.owner.is_placeholder() {
        let place = context.owner.place();
        println!("warning: {place} is a placeholder: `cargo xtask owner` names the owner");
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Every manifest that has a version of its own, and every dependency that names one.
    #[test]
    fn manifests_have_the_version_of_the_workspace() {
        let version = env!("CARGO_PKG_VERSION");
        let text = |path: &str| std::fs::read_to_string(workspace().join(path)).unwrap();
        for path in ["Cargo.toml", "bindings/python/Cargo.toml", "bindings/python/pyproject.toml"] {
            assert!(text(path).contains(&format!("\nversion = \"{version}\"\n")), "{path}");
        }
        let path = "bindings/js/package.json";
        assert!(text(path).contains(&format!("\"version\": \"{version}\"")), "{path}");
        let ours = format!("version = \"{version}\"");
        let manifest = text("Cargo.toml");
        let dependencies = manifest.lines().filter(|line| line.starts_with("callgate"));
        let versions: Vec<&str> = dependencies.filter(|line| line.contains("version")).collect();
        assert!(versions.len() > 15, "{versions:?}");
        for dependency in versions {
            assert!(dependency.contains(&ours), "{dependency}");
        }
    }
}
