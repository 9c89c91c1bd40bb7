//! The licences of what is linked into a program: they ask that each copy has their text.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use callgate_tasks::Result;
use callgate_tasks::files::{read, run};

use super::context::Context;
use crate::paths::cargo_home;

/// What each Rust program contains besides crates, and static ones of the targets with musl.
const RUNTIME: &str = "\
Rust's standard library (MIT OR Apache-2.0): Copyright (c) The Rust Project contributors; the
licences of what it contains are in https://github.com/rust-lang/rust/blob/main/COPYRIGHT.
";
const MUSL: &str = "\
musl libc (MIT): Copyright (c) 2005-2020 Rich Felker, et al.; the authors are listed in
https://git.musl-libc.org/cgit/musl/tree/COPYRIGHT. The text of the MIT licence is that below.
";

/// A crate of others.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Dependency {
    name: String,
    version: String,
    license: String,
    repository: String,
}

/// The file with them in what is published.
pub(super) const THIRD_PARTY: &str = "THIRD-PARTY.txt";

/// The text about all crates of others in a package, named by its directory, that is built for a target.
pub(super) fn notices(context: &Context, package: &str, target: &str) -> Result<String> {
    let mut tree = context.cargo(&["tree", "--locked", "--manifest-path"], &[])?;
    tree.arg(context.root.join(package).join("Cargo.toml"));
    tree.args(["--target", target, "--edges", "normal,no-proc-macro", "--prefix", "none"]);
    let dependencies = dependencies(&run(tree.args(["--format", "{p}|{l}|{r}"]))?);
    let mut text = format!("Callgate contains software of others.\n\n{RUNTIME}");
    if target.ends_with("-musl") {
        text += MUSL;
    }
    text += "\n";
    let mut texts: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
    for dependency in &dependencies {
        let Dependency { name, version, license, repository } = dependency;
        text += &format!("{name} {version} ({license}): {repository}\n");
        let directory = sources(name, version)?;
        let mut contents = Vec::new();
        for file in license_files(&directory, license)? {
            contents.push(String::from_utf8_lossy(&read(&file)?).into_owned());
        }
        if contents.is_empty() {
            contents.push(declared(context, dependency, &directory)?);
        }
        for content in contents {
            // Copies differ in blanks and line breaks.
            let words: Vec<&str> = content.split_whitespace().collect();
            let (_, names) = texts.entry(words.join(" ")).or_insert((content.clone(), Vec::new()));
            names.push(format!("{name} {version}"));
        }
    }
    let mut texts: Vec<(String, Vec<String>)> = texts.into_values().collect();
    texts.sort_by(|a, b| a.1.cmp(&b.1).then_with(|| a.0.cmp(&b.0)));
    for (content, names) in texts {
        text +=
            &format!("\n{:-<79}\n{}:\n\n{}\n", "", names.join(", "), content.trim_matches('\n'));
    }
    Ok(text)
}

/// The licence of a crate that names it without its text: only that of MIT, which is the same for all but the authors.
fn declared(context: &Context, dependency: &Dependency, directory: &Path) -> Result<String> {
    let Dependency { name, version, license, repository } = dependency;
    if !license.split([' ', '/', '(', ')']).any(|word| word == "MIT") || license.contains("AND") {
        return Err(format!("{name} {version} ({license}): has no file with its licence"));
    }
    let own = String::from_utf8_lossy(&read(&context.root.join("LICENSE-MIT"))?).into_owned();
    let manifest = read(&directory.join("Cargo.toml"))?;
    let authors = authors(&String::from_utf8_lossy(&manifest));
    let authors = authors.unwrap_or_else(|| format!("the authors of {name}, {repository}"));
    Ok(mit(&own, &authors))
}

/// The authors in a manifest as Cargo writes it to packages.
fn authors(manifest: &str) -> Option<String> {
    let (_, rest) = manifest.split_once("\nauthors = [")?;
    let (list, _) = rest.split_once("]\n")?;
    let names: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
    (!names.is_empty()).then(|| names.join(", "))
}

/// The text of the MIT licence with other authors.
fn mit(own: &str, authors: &str) -> String {
    let line = |line: &str| match line.starts_with("Copyright (c) ") {
        true => format!("Copyright (c) {authors}\n"),
        false => format!("{line}\n"),
    };
    own.lines().map(line).collect()
}

/// The crates of others in the output of `cargo tree`.
fn dependencies(tree: &str) -> Vec<Dependency> {
    let parse = |line: &str| {
        let mut fields = line.trim_end_matches(" (*)").split('|');
        let (package, license, repository) = (fields.next()?, fields.next()?, fields.next()?);
        let (name, version) = package.split_once(" v")?;
        // A crate of this tree has its path behind the version.
        (!version.contains(' ')).then(|| Dependency {
            name: name.to_owned(),
            version: version.to_owned(),
            license: license.to_owned(),
            repository: repository.to_owned(),
        })
    };
    let mut found: Vec<Dependency> = tree.lines().filter_map(parse).collect();
    found.sort();
    found.dedup();
    found
}

/// The directory with the sources of a crate, where Cargo unpacked them.
fn sources(name: &str, version: &str) -> Result<PathBuf> {
    let registries = cargo_home()?.join("registry/src");
    let failed = |error| format!("{}: {error}", registries.display());
    let directories = fs::read_dir(&registries).map_err(failed)?.flatten();
    let found = directories.map(|one| one.path().join(format!("{name}-{version}")));
    found.into_iter().find(|path| path.is_dir()).ok_or_else(|| {
        format!("{}: no sources of {name} {version}; run cargo fetch", registries.display())
    })
}

/// The files with licences in a directory: only that of MIT where it is one of several to choose from.
fn license_files(directory: &Path, license: &str) -> Result<Vec<PathBuf>> {
    let failed = |error| format!("{}: {error}", directory.display());
    let mut files: Vec<(String, PathBuf)> = fs::read_dir(directory)
        .map_err(failed)?
        .flatten()
        .map(|entry| (entry.file_name().to_string_lossy().to_uppercase(), entry.path()))
        .filter(|(name, path)| is_license(name) && path.is_file())
        .collect();
    files.sort();
    let is_choice = license.contains(" OR ") || license.contains('/');
    if is_choice && !license.contains("AND") {
        let mit = files.iter().find(|(name, _)| name.contains("MIT"));
        if let Some((_, path)) = mit {
            return Ok(vec![path.clone()]);
        }
    }
    Ok(files.into_iter().map(|(_, path)| path).collect())
}

/// Whether a file is a licence by its name, in capitals.
fn is_license(name: &str) -> bool {
    ["LICENSE", "LICENCE", "COPYING", "COPYRIGHT", "NOTICE", "UNLICENSE"]
        .iter()
        .any(|start| name.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn crates_of_others_are_listed_once() {
        let tree = "callgate-cli v0.1.0 (/tree/crates/callgate-cli)|MIT|\n\
                    b v0.2.0|MIT OR Apache-2.0|https://b.example\n\
                    a v1.0.0|MIT|https://a.example\n\
                    b v0.2.0|MIT OR Apache-2.0|https://b.example (*)\n";
        let found = dependencies(tree);
        let names: Vec<&str> = found.iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["a", "b"]);
        assert_eq!(found[1].version, "0.2.0");
        assert_eq!(found[1].repository, "https://b.example");
    }

    #[test]
    fn one_licence_is_enough_where_there_is_a_choice() {
        let directory =
            std::env::temp_dir().join(format!("callgate-notices-{}", std::process::id()));
        fs::create_dir_all(&directory).unwrap();
        for name in ["LICENSE-MIT", "LICENSE-APACHE", "README.md", "license.txt"] {
            fs::write(directory.join(name), name).unwrap();
        }
        let names = |license: &str| -> Vec<String> {
            let files = license_files(&directory, license).unwrap();
            files.iter().map(|path| path.file_name().unwrap().to_string_lossy().into()).collect()
        };
        let (choice, all) =
            (names("MIT OR Apache-2.0"), names("(MIT OR Apache-2.0) AND Unicode-3.0"));
        fs::remove_dir_all(&directory).unwrap();
        assert_eq!(choice, ["LICENSE-MIT"]);
        assert_eq!(all, ["LICENSE-APACHE", "LICENSE-MIT", "license.txt"]);
    }

    #[test]
    fn a_crate_may_declare_the_mit_licence_without_its_text() {
        let manifest =
            "[package]\nauthors = [\n    \"A <a@a.example>\",\n    \"B\",\n]\nbuild = false\n";
        assert_eq!(authors(manifest).as_deref(), Some("A <a@a.example>, B"));
        assert_eq!(authors("[package]\nname = \"a\"\n"), None);
        let text = mit("MIT License\n\nCopyright (c) 2026 Us\n\nPermission\n", "A, B");
        assert_eq!(text, "MIT License\n\nCopyright (c) A, B\n\nPermission\n");
    }
}
