//! The crates, as a registry gets them.
//!
//! Crates that are not published have `publish = false` in their manifest. The packages are compiled in one workspace, where they
//! take the place of those of the registry: each once, and without code generation. The verification by `cargo package` builds each
//! package, and again all that it depends on, which takes several times as long.

use std::fs;
use std::path::{Path, PathBuf};

use callgate_tasks::Result;
use callgate_tasks::files::{files, make, read, remove, run, stem, write};

use super::context::{Context, execute};
use super::part::Artefact;

/// What every package contains beside its code.
const TEXTS: [&str; 3] = ["LICENSE-APACHE", "LICENSE-MIT", "README.md"];

/// Packs the crates.
pub(super) fn build(context: &Context) -> Result<Vec<Artefact>> {
    let target = target(context);
    // Archives of other versions.
    remove(&target.join("package"))?;
    let names = published(&context.root)?;
    let mut cargo = context.cargo(&["package", "--no-verify", "--locked", "--target-dir"], &[])?;
    cargo.arg(&target);
    if context.is_trial {
        cargo.arg("--allow-dirty");
    }
    cargo.args(names.iter().flat_map(|name| ["--package", name]));
    execute(&mut cargo)?;
    let output = context.output.join("crates");
    make(&output)?;
    let mut artefacts = Vec::new();
    for name in &names {
        let file = format!("{name}-{}.crate", context.version);
        let from = target.join("package").join(&file);
        let to = output.join(&file);
        fs::copy(&from, &to).map_err(|error| format!("{}: {error}", from.display()))?;
        artefacts.push(Artefact {
            path: context.relative(&to)?,
            what: format!("crate {name}"),
            machine: None,
        });
    }
    Ok(artefacts)
}

/// Compiles the crates from their packages alone, and runs a program that depends on the library. Then lets Cargo do all of
/// publishing but the upload.
pub(super) fn check(context: &Context) -> Result<()> {
    let directory = context.scratch("crates-check")?;
    unpack(context, &directory)?;
    let oldest = write_workspace(context, &directory)?;
    for words in [["check", "--workspace"], ["run", "--package=program"]] {
        let mut cargo = context.cargo(&words, &[])?;
        execute(cargo.current_dir(&directory).env("CARGO_TARGET_DIR", directory.join("target")))?;
    }
    check_with(context, &oldest, &directory)?;
    publish_dry(context)
}

/// `cargo publish --dry-run` of all crates in the order of their dependencies: what they lack for the registry, and dependencies
/// that it does not have. Needs the registry.
fn publish_dry(context: &Context) -> Result<()> {
    let mut cargo = context.cargo(&["publish", "--workspace", "--dry-run", "--no-verify"], &[])?;
    cargo.args(["--locked", "--target-dir"]).arg(target(context));
    if context.is_trial {
        cargo.arg("--allow-dirty");
    }
    match run(&mut cargo) {
        Ok(_) => {
            println!("cargo publish --dry-run takes all crates");
            Ok(())
        }
        Err(error) if is_unreachable(&error) => {
            println!("not run: cargo publish --dry-run (the registry cannot be reached)");
            Ok(())
        }
        Err(error) => Err(error),
    }
}

/// Whether an error of Cargo is that it could not read the index of the registry.
fn is_unreachable(error: &str) -> bool {
    ["\nerror: download of config.json failed", "but --offline was specified"]
        .iter()
        .any(|text| format!("\n{error}").contains(text))
}

/// Unpacks all packages into a directory, and looks for what each must contain.
fn unpack(context: &Context, directory: &Path) -> Result<()> {
    for archive in files(&context.output.join("crates"), "crate")? {
        let mut tar = context.command("tar");
        run(tar.arg("--extract").arg("--file").arg(&archive).arg("--directory").arg(directory))?;
        let package = directory.join(stem(&archive));
        if let Some(missing) = TEXTS.iter().find(|name| !package.join(name).is_file()) {
            return Err(format!("{}: {missing} is missing", archive.display()));
        }
    }
    Ok(())
}

/// Makes a workspace of the unpacked packages and of a program with the example of the library. Returns the oldest compiler that the
/// library promises.
fn write_workspace(context: &Context, directory: &Path) -> Result<String> {
    let manifest = directory.join(format!("callgate-linux-{}/Cargo.toml", context.version));
    let manifest = text(&manifest)?;
    let oldest = manifest
        .lines()
        .find_map(|line| line.strip_prefix("rust-version = \"")?.strip_suffix('"'))
        .ok_or("callgate-linux: no rust-version")?;
    write(&directory.join("Cargo.toml"), workspace_of(context)?)?;
    // The versions of dependencies that tests use.
    let (lock, copy) = (context.root.join("Cargo.lock"), directory.join("Cargo.lock"));
    fs::copy(&lock, copy).map_err(|error| format!("{}: {error}", lock.display()))?;
    let program = directory.join("program");
    make(&program.join("src"))?;
    write(&program.join("Cargo.toml"), manifest_of(context, oldest))?;
    let readme = directory.join(format!("callgate-{}/README.md", context.version));
    let example = example(&text(&readme)?)
        .ok_or_else(|| format!("{}: no example in Rust", readme.display()))?;
    write(&program.join("src/main.rs"), main_of(&example))?;
    Ok(oldest.to_owned())
}

/// Checks the program with the oldest compiler that the library promises, if that is installed.
fn check_with(context: &Context, oldest: &str, directory: &Path) -> Result<()> {
    let mut version = context.command("rustup");
    if run(version.args(["run", oldest, "rustc", "--version"])).is_err() {
        println!("not built with Rust {oldest}: `rustup toolchain install {oldest}` installs it");
        return Ok(());
    }
    let mut check = context.command("rustup");
    check.args(["run", oldest, "cargo", "check", "--package", "program"]);
    check.current_dir(directory).env("CARGO_TARGET_DIR", directory.join("target-oldest"));
    execute(&mut check)?;
    println!("the program also builds with Rust {oldest}");
    Ok(())
}

/// The directory in which cargo packs.
fn target(context: &Context) -> PathBuf {
    context.work.join("crates")
}

/// The names of the crates that are published, sorted.
fn published(root: &Path) -> Result<Vec<String>> {
    let directory = root.join("crates");
    let entries =
        fs::read_dir(&directory).map_err(|error| format!("{}: {error}", directory.display()))?;
    let mut names = Vec::new();
    for entry in entries.flatten() {
        let manifest = entry.path().join("Cargo.toml");
        if manifest.is_file() && !text(&manifest)?.lines().any(|line| line == "publish = false") {
            // Directories have the names of their packages.
            names.push(entry.file_name().to_string_lossy().into_owned());
        }
    }
    names.sort();
    Ok(names)
}

/// The first example in Rust of a document.
fn example(document: &str) -> Option<String> {
    let (_, behind) = document.split_once("```rust\n")?;
    behind.split_once("\n```").map(|(example, _)| example.to_owned())
}

/// The manifest of a workspace with all packages and a program, in which each package takes the place of that of the registry.
fn workspace_of(context: &Context) -> Result<String> {
    let mut text = "[workspace]\nresolver = \"3\"\nmembers = [\"callgate*\", \"program\"]\n\n\
        [profile.dev]\ndebug = \"none\"\nincremental = false\n\n[patch.crates-io]\n"
        .to_owned();
    for name in published(&context.root)? {
        text += &format!("{name} = {{ path = \"{name}-{}\" }}\n", context.version);
    }
    Ok(text)
}

/// The manifest of a program that depends on the library as everybody does.
fn manifest_of(context: &Context, rust: &str) -> String {
    let version = &context.version;
    format!(
        "[package]\nname = \"program\"\nversion = \"0.0.0\"\nedition = \"2024\"\nrust-version = \"{rust}\"\n\n\
         [dependencies]\ncallgate = \"{version}\"\ncallgate-linux = \"{version}\"\nlibc = \"0.2\"\n"
    )
}

/// A program that runs the example, which limits it, and then tries what is denied.
fn main_of(example: &str) -> String {
    format!(
        "fn main() -> Result<(), Box<dyn std::error::Error>> {{\n{example}\n\
         println!(\"a program with the packaged crates installed {{}} instructions\", program.len());\n\
         match std::fs::read(\"/etc/passwd\") {{\n\
         Err(error) if error.raw_os_error() == Some(EPERM) => Ok(()),\n\
         other => Err(format!(\"open should be denied, but gave {{other:?}}\").into()),\n}}\n}}\n"
    )
}

fn text(path: &Path) -> Result<String> {
    String::from_utf8(read(path)?).map_err(|_| format!("{}: not UTF-8", path.display()))
}

#[cfg(test)]
mod tests {
    use callgate_tasks::workspace;

    use super::*;

    #[test]
    fn published_crates_have_what_a_registry_shows() {
        let names = published(&workspace()).unwrap();
        assert!(names.contains(&"callgate-core".to_owned()), "{names:?}");
        assert!(!names.contains(&"callgate-testing".to_owned()), "{names:?}");
        for name in names {
            let directory = workspace().join("crates").join(&name);
            let manifest = text(&directory.join("Cargo.toml")).unwrap();
            for key in [
                "name",
                "description",
                "license.workspace",
                "repository.workspace",
                "readme",
                "keywords",
                "categories",
                "exclude.workspace",
            ] {
                let is_given = manifest
                    .lines()
                    .any(|line| line.strip_prefix(key).is_some_and(|rest| rest.starts_with(" = ")));
                assert!(is_given, "{name}: no {key}");
            }
            assert!(manifest.contains(&format!("name = \"{name}\"\n")), "{name}");
            for file in TEXTS {
                assert!(directory.join(file).is_file(), "{name}: no {file}");
            }
        }
    }

    #[test]
    fn only_an_unreachable_registry_is_no_error() {
        let unreachable = "cargo:     Updating crates.io index\nerror: download of config.json failed\n\nCaused by:\n  \
            failed to download from `https://index.crates.io/config.json`";
        assert!(is_unreachable(unreachable));
        assert!(is_unreachable(
            "cargo: error: attempting to make an HTTP request, but --offline was specified"
        ));
        let missing = "cargo:     Updating crates.io index\nerror: no matching package named `callgate-lost` found";
        assert!(!is_unreachable(missing));
    }

    #[test]
    fn examples_are_those_in_rust() {
        let document = "```toml\na\n```\n```rust\nb\nc\n```\n```rust\nd\n```\n";
        assert_eq!(example(document).as_deref(), Some("b\nc"));
        assert_eq!(example("```toml\na\n```\n"), None);
    }
}
