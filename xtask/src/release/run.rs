//! Builds and checks the parts.

use std::process::Command;
use std::time::Instant;

use callgate_tasks::files::{remove, run as output};
use callgate_tasks::{Result, workspace};

use super::context::{Built, Context, MACHINES, Machine, execute};
use super::options::Options;
use super::parts::PARTS;
use super::{manifest, newcomer, toolchain};

/// Runs the task.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let Some(options) = Options::parse(arguments)? else {
        for part in PARTS {
            println!("{:<12} {}", part.name, part.summary);
            println!("{:<12} needs {}", "", part.needs.join(", "));
            if !part.checks_need.is_empty() {
                println!("{:<12} to check it, {}", "", part.checks_need.join(", "));
            }
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
    if options.check {
        clean()?;
    }
    present(&options)?;
    let mut context = Context::new(
        options.version.clone(),
        options.machines.clone(),
        options.is_complete(),
        !options.check,
    )?;
    if options.check {
        fetch(&context)?;
    }
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
    manifest::write_all(&context, &artefacts)?;
    match options.check && options.is_complete() {
        true => newcomer::check(&context),
        false => Ok(()),
    }
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

/// Fails if programs are missing, before anything is built.
fn present(options: &Options) -> Result<()> {
    let mut missing = Vec::new();
    for part in &options.parts {
        let checks: &[&str] = if options.check { part.checks_need } else { &[] };
        for program in part.needs.iter().chain(checks) {
            let is_needed = is_needed(program, &options.machines);
            if is_needed && !missing.contains(program) && !toolchain::is_installed(program) {
                missing.push(program);
            }
        }
    }
    match missing.is_empty() {
        true => Ok(()),
        false => Err(format!(
            "missing: {}; .ci/release-tools installs what Debian 12 has",
            missing.join(", ")
        )),
    }
}

/// Whether a program is needed: compilers only for the machines of the release, emulators only for other machines than this.
fn is_needed(program: &str, machines: &[Machine]) -> bool {
    let Some(named) = MACHINES.iter().find(|machine| program.contains(machine.name)) else {
        return true;
    };
    let is_here = named.name == std::env::consts::ARCH;
    machines.contains(named) && !(is_here && program.starts_with("qemu-"))
}

/// Gets the sources of all dependencies, whose directories are in the flags of the compiler: they must exist before.
fn fetch(context: &Context) -> Result<()> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["fetch", "--quiet", "--locked", "--manifest-path"]);
    execute(cargo.arg(context.root.join("Cargo.toml")))
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

    #[test]
    fn documents_have_the_version_of_the_workspace() {
        let version = env!("CARGO_PKG_VERSION");
        for (path, lines) in [
            ("fleet/kubernetes/kustomization.yaml", &["newTag: VERSION\n"][..]),
            ("fleet/kubernetes-example/kustomization.yaml", &["?ref=vVERSION\""]),
            (
                "README.md",
                &[
                    "callgate_VERSION_",
                    "callgate-VERSION-",
                    "callgate:VERSION ",
                    "release VERSION`",
                ],
            ),
            ("docs/how-to/replace-libseccomp.md", &["+callgateVERSION_"]),
            (
                "SECURITY.md",
                &["download vVERSION ", "tags/vVERSION ", "callgate_VERSION_", "callgate:VERSION "],
            ),
        ] {
            let text = std::fs::read_to_string(workspace().join(path)).unwrap();
            for line in lines {
                let line = line.replace("VERSION", version);
                assert!(text.contains(&line), "{path}: no {line:?}");
            }
        }
    }

    #[test]
    fn emulators_are_needed_for_other_machines() {
        let other = MACHINES.into_iter().find(|one| one.name != std::env::consts::ARCH).unwrap();
        let (here, there) = (std::env::consts::ARCH, other.name);
        assert!(is_needed("git", &[]));
        assert!(!is_needed(&format!("qemu-{here}"), &MACHINES));
        assert!(is_needed(&format!("qemu-{there}"), &MACHINES));
        assert!(!is_needed(&format!("{there}-linux-gnu-gcc"), &[]));
    }
}
