//! Part `sbom`: a bill of materials (CycloneDX 1.5) for each file of a release, `sbom/FILE.cdx.json`.
//!
//! cargo-cyclonedx lists the crates that a package is built from, for the target of the file. `sbom.jq` makes that a document
//! about the file: its name and its hash, and the standard library, which Cargo does not know. The documents have no random
//! number, and the time of the commit, so that two builds have the same bytes.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use callgate_tasks::Result;
use callgate_tasks::files::{make, output, read, run, write};

use super::context::{Built, Context, Libc};
use super::part::Artefact;
use super::python;

/// The version of cargo-cyclonedx: another one may write other bytes.
pub(super) const TOOL: &str = "0.5.9";

/// The validator of the check, with the schemas of CycloneDX.
const VALIDATOR: &str = "cyclonedx-python-lib[json-validation]==11.12.0";

/// Where a file's code is from.
struct Origin {
    /// The part of the release.
    part: &'static str,
    /// The directory of the package.
    package: &'static str,
    /// The C library of the target; `None` for a module of WebAssembly.
    libc: Option<Libc>,
}

const WASM: &str = "wasm32-unknown-unknown";

/// The parts with code that is compiled for a target.
const ORIGINS: &[Origin] = &[
    Origin { part: "command", package: "crates/callgate-cli", libc: Some(Libc::Musl) },
    Origin { part: "image", package: "crates/callgate-cli", libc: Some(Libc::Musl) },
    Origin { part: "c", package: "crates/callgate-c", libc: Some(Libc::Glibc) },
    Origin { part: "drop-in", package: "crates/callgate-seccomp", libc: Some(Libc::Glibc) },
    Origin { part: "python", package: "bindings/python", libc: Some(Libc::Glibc) },
    Origin { part: "npm", package: "crates/callgate-requests", libc: None },
    Origin { part: GO, package: "crates/callgate-requests", libc: None },
];

/// The part with the Go module.
const GO: &str = "go";

/// The part with the sources of crates, each with the dependencies of its own package, for all targets.
const CRATES: &str = "crates";

/// Makes the documents.
pub(super) fn build(context: &Context) -> Result<Vec<Artefact>> {
    if context.built.is_empty() {
        return Err(
            "there is no other part; build it together with those that it describes".to_owned()
        );
    }
    let mut lists = Lists::new(context)?;
    let directory = context.output.join("sbom");
    make(&directory)?;
    let mut artefacts = Vec::new();
    for built in context.built.iter().filter(|built| is_described(built)) {
        let list = lists.of(context, built)?;
        let path = document(&context.output, built)?;
        write(&path, describe(context, built, &list)?)?;
        let what = format!("what is in {}", name(built)?);
        artefacts.push(Artefact { path: context.relative(&path)?, what, machine: built.machine });
    }
    Ok(artefacts)
}

/// Whether a file has something in it that was built: lists of versions, as a proxy of Go modules has them, do not.
fn is_described(built: &Built) -> bool {
    let path = Path::new(&built.path);
    built.part != GO || path.extension().is_some_and(|kind| kind == "zip")
}

/// The name of a file of the release. A module of Go is named after its version only.
fn name(built: &Built) -> Result<String> {
    let name = Path::new(&built.path).file_name().and_then(|name| name.to_str());
    let name = name.ok_or_else(|| format!("{:?}: is not the path of a file", built.path))?;
    Ok(if built.part == GO { format!("go-{name}") } else { name.to_owned() })
}

/// Where the document about a file is.
fn document(output: &Path, built: &Built) -> Result<PathBuf> {
    Ok(output.join("sbom").join(format!("{}.cdx.json", name(built)?)))
}

/// The document about a file, from the list of its package.
fn describe(context: &Context, built: &Built, list: &Path) -> Result<String> {
    let mut jq = Command::new("jq");
    jq.args(["--sort-keys", "--from-file"]).arg(context.root.join("xtask/src/release/sbom.jq"));
    for (key, value) in [
        ("file", name(built)?),
        ("sum", sum(&context.output.join(&built.path))?),
        ("version", context.version.clone()),
        ("time", context.time()?),
        ("root", format!("{}", context.work.join("sbom/tree").display())),
        ("rust", rust(context)?),
    ] {
        jq.args(["--arg", key, &value]);
    }
    run(jq.arg(list))
}

/// The SHA-256 hash of a file in hexadecimal.
fn sum(file: &Path) -> Result<String> {
    let text = run(Command::new("sha256sum").arg("--").arg(file))?;
    text.split_whitespace()
        .next()
        .map(|sum| sum.trim_start_matches('\\').to_owned())
        .ok_or_else(|| format!("sha256sum: no sum of {}", file.display()))
}

/// The version of the compiler, which that of the standard library is.
fn rust(context: &Context) -> Result<String> {
    let text = run(context.command("rustc").arg("--version"))?;
    let version = text.split_whitespace().nth(1);
    version.map(str::to_owned).ok_or_else(|| format!("rustc --version: unexpected answer {text:?}"))
}

/// The lists of cargo-cyclonedx, each made once.
struct Lists {
    /// A copy of the tree, because the tool writes into it.
    tree: PathBuf,
    tool: PathBuf,
    made: BTreeMap<(PathBuf, Option<String>), PathBuf>,
}

impl Lists {
    fn new(context: &Context) -> Result<Lists> {
        let tool = tool(context)?;
        let scratch = context.scratch("sbom")?;
        let (tree, archive) = (scratch.join("tree"), scratch.join("tree.tar"));
        make(&tree)?;
        run(context.command("git").args(["archive", "--output"]).arg(&archive).arg("HEAD"))?;
        run(Command::new("tar")
            .arg("--extract")
            .arg("--file")
            .arg(&archive)
            .arg("--directory")
            .arg(&tree))?;
        Ok(Lists { tree, tool, made: BTreeMap::new() })
    }

    /// The list for a file.
    fn of(&mut self, context: &Context, built: &Built) -> Result<PathBuf> {
        let (package, target) = origin(built, &context.version)?;
        let key = (package.clone(), target.clone());
        if let Some(list) = self.made.get(&key) {
            return Ok(list.clone());
        }
        let number = self.made.len();
        let name = format!("list-{number}");
        let mut cargo = context.command(&self.tool.display().to_string());
        cargo
            .current_dir(&self.tree)
            .args(["cyclonedx", "--format", "json", "--spec-version", "1.5", "--quiet"])
            .args(["--override-filename", &name, "--target", target.as_deref().unwrap_or("all")])
            .arg("--manifest-path")
            .arg(self.tree.join(&package).join("Cargo.toml"));
        output(&mut cargo).map_err(|error| format!("{}: {error}", package.display()))?;
        let list = self.tree.join(&package).join(format!("{name}.json"));
        if !list.exists() {
            return Err(format!("cargo-cyclonedx did not write {}", list.display()));
        }
        self.made.insert(key, list.clone());
        Ok(list)
    }
}

/// The package and the target of a file; no target means all.
fn origin(built: &Built, version: &str) -> Result<(PathBuf, Option<String>)> {
    let part = built.part;
    if part == CRATES {
        let name = name(built)?;
        let stem = name.strip_suffix(&format!("-{version}.crate"));
        let package = stem.ok_or_else(|| format!("{}: is not a crate of {version}", built.path))?;
        return Ok((Path::new("crates").join(package), None));
    }
    let Some(Origin { package, libc, .. }) = ORIGINS.iter().find(|one| one.part == part) else {
        return Err(format!(
            "{}: no bill of materials for part {part}; add a line to ORIGINS in sbom.rs",
            built.path
        ));
    };
    let target = match (libc, built.machine) {
        (None, _) => Some(WASM.to_owned()),
        // A wheel for musl.
        (_, Some(machine)) if built.path.contains("-musllinux") => Some(machine.target(Libc::Musl)),
        (Some(libc), Some(machine)) => Some(machine.target(*libc)),
        (Some(_), None) => None,
    };
    Ok((PathBuf::from(package), target))
}

/// The program, installed if necessary.
fn tool(context: &Context) -> Result<PathBuf> {
    let root = crate::wasm::target().join("tools");
    let program = root.join("bin/cargo-cyclonedx");
    let is_current = run(Command::new(&program).args(["cyclonedx", "--version"]))
        .is_ok_and(|text| text.split_whitespace().last() == Some(TOOL));
    if !is_current {
        let mut cargo =
            context.command(&std::env::var("CARGO").unwrap_or_else(|_| "cargo".to_owned()));
        cargo.args(["install", "--quiet", "--locked", "--force", "--version", TOOL, "--root"]);
        // A debug build runs for a second, and an optimized one takes minutes longer to make.
        cargo.arg(&root).args(["--debug", "cargo-cyclonedx"]).env("CARGO_PROFILE_DEV_DEBUG", "0");
        output(&mut cargo)?;
    }
    Ok(program)
}

/// Checks each document with the schema of CycloneDX, and its hash with the file.
pub(super) fn check(context: &Context) -> Result<()> {
    let environment = crate::wasm::target().join("tools/sbom-venv");
    let interpreter = environment.join("bin/python");
    if run(Command::new(&interpreter).args(["-c", "import cyclonedx.validation.json"])).is_err() {
        python::environment(&environment)?;
        run(python::pip(&environment).args(["install", "--quiet", VALIDATOR]))?;
    }
    let mut count = 0;
    let mut validate = Command::new(&interpreter);
    validate.arg(context.root.join("xtask/src/release/sbom.py"));
    for built in context.built.iter().filter(|built| built.part != "sbom" && is_described(built)) {
        let path = document(&context.output, built)?;
        let text = String::from_utf8_lossy(&read(&path)?).into_owned();
        let expected = sum(&context.output.join(&built.path))?;
        if !text.contains(&expected) {
            return Err(format!("{}: lacks the hash {expected} of the file", path.display()));
        }
        if text.contains(&*context.work.to_string_lossy()) {
            return Err(format!("{}: has a path of this machine", path.display()));
        }
        validate.arg(path);
        count += 1;
    }
    print!("{}", run(&mut validate)?);
    let documents = fs::read_dir(context.output.join("sbom")).map_err(|error| error.to_string())?;
    match documents.count() {
        found if found == count => Ok(()),
        found => Err(format!("{found} documents for {count} files: two files have one name")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::release::context::MACHINES;
    use crate::release::parts::PARTS;

    fn built(part: &'static str, path: &str, machine: Option<&str>) -> Built {
        let named = |name| MACHINES.into_iter().find(|machine| machine.name == name).unwrap();
        Built { part, path: path.to_owned(), machine: machine.map(named) }
    }

    #[test]
    fn each_part_has_an_origin() {
        for part in PARTS.iter().filter(|part| !["sbom", CRATES].contains(&part.name)) {
            assert!(ORIGINS.iter().any(|origin| origin.part == part.name), "{}", part.name);
        }
        let unknown = origin(&built("novel", "x.tar.gz", None), "0.1.0").unwrap_err();
        assert!(unknown.contains("no bill of materials for part novel"), "{unknown}");
    }

    #[test]
    fn documents_have_names_of_their_own() {
        let of = |part, path| document(Path::new("r"), &built(part, path, None)).unwrap();
        assert_eq!(of("command", "command/a.deb"), Path::new("r/sbom/a.deb.cdx.json"));
        assert_eq!(of(GO, "go/a/@v/v0.1.0.zip"), Path::new("r/sbom/go-v0.1.0.zip.cdx.json"));
        assert!(is_described(&built(GO, "go/a/@v/v0.1.0.zip", None)));
        assert!(!is_described(&built(GO, "go/a/@v/list", None)));
    }

    #[test]
    fn origins_are_packages() {
        let root = callgate_tasks::workspace();
        for Origin { part, package, .. } in ORIGINS {
            assert!(root.join(package).join("Cargo.toml").exists(), "{part}: {package}");
        }
    }

    #[test]
    fn a_file_has_the_target_of_its_machine() {
        let of = |part, path, machine| {
            let (package, target) = origin(&built(part, path, machine), "0.1.0").unwrap();
            (package.display().to_string(), target.unwrap_or_default())
        };
        let expected = |package: &str, target: &str| (package.to_owned(), target.to_owned());
        assert_eq!(
            of("command", "a.deb", Some("aarch64")),
            expected("crates/callgate-cli", "aarch64-unknown-linux-musl")
        );
        assert_eq!(of("npm", "a.tgz", None), expected("crates/callgate-requests", WASM));
        assert_eq!(of("python", "callgate-0.1.0.tar.gz", None), expected("bindings/python", ""));
        assert_eq!(
            of("crates", "crates/callgate-core-0.1.0.crate", None),
            expected("crates/callgate-core", "")
        );
        let wheel = "python/callgate-0.1.0-cp39-abi3-musllinux_1_2_x86_64.whl";
        assert_eq!(
            of("python", wheel, Some("x86_64")),
            expected("bindings/python", "x86_64-unknown-linux-musl")
        );
    }
}
