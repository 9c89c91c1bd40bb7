//! The paths that documents name exist.

use std::path::{Path, PathBuf};

use callgate_tasks::Result;
use callgate_tasks::files::read;

/// Top-level directories. A path in backticks that starts with one of them must exist.
const ROOTS: &[&str] = &["crates/", "docs/", "fuzz/", "lab/", "xtask/"];

/// The documents of the tree.
pub(crate) fn documents(root: &Path, packages: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut directories =
        ["", "docs", "docs/decisions", "fuzz", "lab"].map(|name| root.join(name)).to_vec();
    directories.extend(packages.iter().cloned());
    let mut documents = Vec::new();
    for directory in directories {
        documents.extend(callgate_tasks::files::files(&directory, "md")?);
    }
    Ok(documents)
}

/// Missing targets of paths and links, as messages.
pub(super) fn check(root: &Path, packages: &[PathBuf]) -> Result<Vec<String>> {
    let mut errors = Vec::new();
    for document in documents(root, packages)? {
        let directory = document.parent().unwrap_or(root);
        let text = String::from_utf8_lossy(&read(&document)?).into_owned();
        for (number, line) in text.lines().enumerate() {
            let links = links(line).map(|link| (link, directory.join(link)));
            let paths = paths(line).map(|path| (path, root.join(path)));
            for (name, target) in links.chain(paths) {
                if !target.exists() {
                    let place = document.strip_prefix(root).unwrap_or(&document);
                    errors.push(format!(
                        "{}:{}: no such file: {name}",
                        place.display(),
                        number + 1
                    ));
                }
            }
        }
    }
    Ok(errors)
}

/// Targets of links to files, without their fragments.
fn links(line: &str) -> impl Iterator<Item = &str> {
    line.split("](").skip(1).filter_map(|rest| {
        let target = rest.split(')').next()?.split('#').next()?;
        (!target.is_empty() && !target.contains("://") && !target.contains(' ')).then_some(target)
    })
}

/// Paths of the tree in backticks.
fn paths(line: &str) -> impl Iterator<Item = &str> {
    line.split('`').skip(1).step_by(2).filter(|word| {
        ROOTS.iter().any(|root| word.starts_with(root)) && !word.contains([' ', '*', '{', '<', '…'])
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_and_paths_are_found() {
        let line = "[a](b.md#c) and `crates/x/src/y.rs`, [web](https://a.example/), `cargo xtask`, `docs/*`";
        assert_eq!(links(line).collect::<Vec<_>>(), ["b.md"]);
        assert_eq!(paths(line).collect::<Vec<_>>(), ["crates/x/src/y.rs"]);
    }
}
