//! Checks all packages of the workspace.

use std::path::Path;

use callgate_tasks::{Result, workspace};

use super::files::Crate;
use super::{actions, code_lines, declarations, documents, graph, languages, layers, paths};

pub(crate) const HELP: &str = "\
usage: cargo xtask structure

Reads the source files of all packages of the workspace, without their tests, and
the dependencies between packages. Fails if files of a package import from each
other in a circle, if a mod.rs or lib.rs defines something, if a package has a
dependency that ARCHITECTURE.md does not permit, if an enum of a package in crates
lists languages beside the registry, if a string outside of it is the name of a
language, if a document names a missing file or quotes another figure than
docs/figures.json (`cargo xtask figures --help`), if lab/results/README.md lacks a
page, if README.md has more than 900 words, a page of docs/how-to more than 600, or
docs more than 55,000, if a workflow uses an action without the hash of a commit or
an image without its digest, or if the crate that must be believed has more lines of
code than its limit, a dependency more, or unsafe code.
";

/// Checks the workspace.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    if let Some(argument) = arguments.first() {
        return Err(format!("unexpected argument {argument:?}; try --help"));
    }
    let root = workspace();
    let mut errors = layers::check(&root)?;
    let packages = layers::packages(&root)?;
    errors.extend(documents::check(&root, &packages)?);
    let (words, found) = documents::words(&root)?;
    errors.extend(found);
    errors.extend(crate::figures::check(&root, &packages)?);
    errors.extend(actions::check(&root)?);
    let (trusted, found) = code_lines::check_trusted(&root)?;
    errors.extend(found);
    let (mut files, mut imports) = (0, 0);
    for package in &packages {
        let (counted, found) = check(&root, package)?;
        files += counted.0;
        imports += counted.1;
        errors.extend(found);
    }
    if !errors.is_empty() {
        return Err(format!("{} errors\n\n{}", errors.len(), errors.join("\n\n")));
    }
    println!(
        "{} packages, {files} files, {imports} imports between files: no circle, no dependency upwards; {trusted} lines of code must be \
         believed; {words}",
        packages.len()
    );
    Ok(())
}

/// Files and imports of a package, and its errors as messages.
fn check(root: &Path, package: &Path) -> Result<((usize, usize), Vec<String>)> {
    let (mut files, mut imports, mut errors) = (0, 0, Vec::new());
    for start in ["src/lib.rs", "src/main.rs"] {
        let start = package.join(start);
        if !start.exists() {
            continue;
        }
        let krate = Crate::read(&start)?;
        let edges = paths::imports(&krate);
        files += krate.files.len();
        imports += edges.len();
        let name = |file: usize| {
            let path = &krate.files[file].path;
            path.strip_prefix(root).unwrap_or(path).display().to_string()
        };
        for (file, line) in declarations::definitions(&krate) {
            errors.push(format!(
                "{}:{line}: mod.rs and lib.rs only declare, re-export and document; move this to a file that is named \
                 after it",
                name(file)
            ));
        }
        // Evaluators and peers are independent of the registry on purpose.
        let is_product = package.starts_with(root.join("crates"));
        if is_product && !package.ends_with(languages::REGISTRY) {
            for (file, line, own, variants) in languages::enums(&krate) {
                errors.push(format!(
                    "{}:{line}: the enum {own} has variants for languages, {}; ask the registry \
                     (callgate_formats::languages) instead",
                    name(file),
                    variants.join(", ")
                ));
            }
        }
        if is_product {
            for (file, line, language) in languages::strings(&krate) {
                errors.push(format!(
                    "{}:{line}: \"{language}\" is the name of a language; ask the registry (callgate_formats::languages) \
                     for a property instead",
                    name(file)
                ));
            }
        }
        for circle in graph::circles(krate.files.len(), &edges) {
            let mut text = String::from("files import from each other in a circle:");
            for (edge, names) in
                edges.iter().filter(|((from, to), _)| circle.contains(from) && circle.contains(to))
            {
                let names: Vec<&str> = names.iter().map(String::as_str).collect();
                text += &format!("\n  {} -> {}: {}", name(edge.0), name(edge.1), names.join(", "));
            }
            errors.push(text);
        }
    }
    Ok(((files, imports), errors))
}
