//! The paths that documents name exist, README.md and the pages in `docs` stay short, and the index of results is complete.

use std::path::{Path, PathBuf};

use callgate_tasks::Result;
use callgate_tasks::files::{files, read};

/// Top-level directories. A path in backticks that starts with one of them must exist.
const ROOTS: &[&str] = &["crates/", "docs/", "fuzz/", "lab/", "xtask/"];

/// The maximum number of words in README.md, as `wc -w` counts them: what one reads before deciding to try the program.
const README_WORDS: usize = 900;

/// The maximum number of words of all pages in `docs`, as `wc -w` counts them.
const DOCS_WORDS: usize = 55_000;

/// The maximum number of words of a page that is about one task.
const TASK_WORDS: usize = 600;

/// The kinds of pages: directories of `docs`.
pub(crate) const KINDS: &[&str] =
    &["tutorials", "how-to", "reference", "explanation", "developers"];

/// The documents of the tree.
pub(crate) fn documents(root: &Path, packages: &[PathBuf]) -> Result<Vec<PathBuf>> {
    let mut directories = ["", "fuzz", "lab", "lab/results"].map(|name| root.join(name)).to_vec();
    directories.extend(packages.iter().cloned());
    let mut documents = Vec::new();
    for directory in directories {
        documents.extend(files(&directory, "md")?);
    }
    documents.extend(pages(&root.join("docs"))?);
    Ok(documents)
}

/// The pages in a directory and in those below it.
fn pages(directory: &Path) -> Result<Vec<PathBuf>> {
    let (mut pages, mut directories) = (Vec::new(), vec![directory.to_owned()]);
    while let Some(directory) = directories.pop() {
        pages.extend(files(&directory, "md")?);
        directories.extend(callgate_tasks::files::directories(&directory)?);
    }
    pages.sort();
    Ok(pages)
}

/// The words of the pages in `docs` by kind, as text, and messages about too many.
pub(super) fn words(root: &Path) -> Result<(String, Vec<String>)> {
    let docs = root.join("docs");
    let (mut text, mut errors, mut all) = (Vec::new(), Vec::new(), 0);
    for kind in KINDS {
        let mut words = 0;
        for page in pages(&docs.join(kind))? {
            let own = String::from_utf8_lossy(&read(&page)?).split_whitespace().count();
            words += own;
            if *kind == "how-to" && own > TASK_WORDS {
                errors.push(format!(
                    "{}: {own} words; the limit of a page about one task is {TASK_WORDS}. Move facts to a page in \
                     docs/reference",
                    page.strip_prefix(root).unwrap_or(&page).display()
                ));
            }
        }
        all += words;
        text.push(format!("{kind} {words}"));
    }
    if all > DOCS_WORDS {
        errors.push(format!(
            "docs: {all} words; the limit is {DOCS_WORDS}. Move what a laboratory wrote down to lab/results"
        ));
    }
    Ok((format!("{all} words in docs ({})", text.join(", ")), errors))
}

/// Missing targets of paths and links, and a README.md that is too long, as messages.
pub(super) fn check(root: &Path, packages: &[PathBuf]) -> Result<Vec<String>> {
    let mut errors = Vec::new();
    errors.extend(too_long(&String::from_utf8_lossy(&read(&root.join("README.md"))?)));
    let results = root.join("lab/results");
    let index = read(&results.join("README.md"))?;
    errors.extend(unlisted(&String::from_utf8_lossy(&index), &files(&results, "md")?));
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

/// Pages of results that their index does not list, as messages.
fn unlisted(index: &str, pages: &[PathBuf]) -> Vec<String> {
    let listed: Vec<&str> = index.lines().flat_map(links).collect();
    let names = pages.iter().filter_map(|page| page.file_name()?.to_str());
    names
        .filter(|name| *name != "README.md" && !listed.contains(name))
        .map(|name| format!("lab/results/{name}: is not in lab/results/README.md"))
        .collect()
}

/// A message if the text of README.md has too many words.
fn too_long(readme: &str) -> Option<String> {
    let words = readme.split_whitespace().count();
    (words > README_WORDS).then(|| {
        format!(
            "README.md: {words} words; the limit is {README_WORDS}. Move what a newcomer does not need to a page in docs"
        )
    })
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
    fn readme_has_a_maximum_number_of_words() {
        let longest = "# a-b\n| `c` |\n".repeat(README_WORDS / 5);
        assert_eq!(too_long(&longest), None);
        let message = too_long(&(longest + "more")).unwrap();
        assert!(message.starts_with("README.md: 901 words; the limit is 900."), "{message}");
    }

    #[test]
    fn results_that_the_index_lacks_are_named() {
        let pages = ["README.md", "a.md", "b.md"].map(|name| Path::new("/results").join(name));
        let errors = unlisted("| [a.md](a.md) | a |\n", &pages);
        assert_eq!(errors, ["lab/results/b.md: is not in lab/results/README.md"]);
    }

    #[test]
    fn links_and_paths_are_found() {
        let line = "[a](b.md#c) and `crates/x/src/y.rs`, [web](https://a.example/), `cargo xtask`, `docs/*`";
        assert_eq!(links(line).collect::<Vec<_>>(), ["b.md"]);
        assert_eq!(paths(line).collect::<Vec<_>>(), ["crates/x/src/y.rs"]);
    }
}
