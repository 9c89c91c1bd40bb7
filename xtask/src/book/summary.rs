//! `docs/SUMMARY.md`: the pages of the book in their order.

use std::collections::BTreeMap;
use std::path::Path;

use callgate_tasks::Result;
use callgate_tasks::files::{directories, files, read};

use super::markdown::links;

/// The file with the list of pages.
pub(super) const SUMMARY: &str = "SUMMARY.md";

/// The pages of `docs` with their texts, by their path below it, without the list of pages.
pub(super) fn pages(docs: &Path) -> Result<BTreeMap<String, String>> {
    let (mut pages, mut open) = (BTreeMap::new(), vec![docs.to_owned()]);
    while let Some(directory) = open.pop() {
        for path in files(&directory, "md")? {
            let text = String::from_utf8(read(&path)?)
                .map_err(|_| format!("{}: is not UTF-8", path.display()))?;
            let name = path.strip_prefix(docs).unwrap_or(&path).to_string_lossy().into_owned();
            pages.insert(name, text);
        }
        open.extend(directories(&directory)?);
    }
    pages.remove(SUMMARY);
    Ok(pages)
}

/// Pages that the list does not have, and entries that are not pages or are there twice, as messages.
pub(super) fn check(summary: &str, pages: &BTreeMap<String, String>) -> Vec<String> {
    let mut missing: Vec<&str> = pages.keys().map(String::as_str).collect();
    let mut errors = Vec::new();
    for link in links(summary) {
        let line = summary[..link.range.start].matches('\n').count() + 1;
        let entry = link.target.trim_start_matches("./");
        match missing.iter().position(|page| *page == entry) {
            Some(index) => drop(missing.remove(index)),
            None if pages.contains_key(entry) => {
                errors.push(format!("docs/{SUMMARY}:{line}: {entry} is listed twice"));
            }
            None => errors.push(format!("docs/{SUMMARY}:{line}: no such page: {entry}")),
        }
    }
    errors.extend(missing.iter().map(|page| format!("docs/{page}: is not in docs/{SUMMARY}")));
    errors
}

#[cfg(test)]
mod tests {
    use callgate_tasks::workspace;

    use super::*;

    #[test]
    fn each_page_of_this_tree_is_listed_and_each_entry_exists() {
        let docs = workspace().join("docs");
        let summary = String::from_utf8(read(&docs.join(SUMMARY)).unwrap()).unwrap();
        let errors = check(&summary, &pages(&docs).unwrap());
        assert!(errors.is_empty(), "{}", errors.join("\n"));
    }

    #[test]
    fn differences_are_named() {
        let pages = ["README.md", "a/b.md", "c.md"].map(|name| (name.to_owned(), String::new()));
        let summary = "# Summary\n\n[Start](README.md)\n- [B](./a/b.md)\n- [D](d.md)\n- [Draft]()\n- [B](a/b.md)\n";
        let expected = [
            "docs/SUMMARY.md:5: no such page: d.md",
            "docs/SUMMARY.md:7: a/b.md is listed twice",
            "docs/c.md: is not in docs/SUMMARY.md",
        ];
        assert_eq!(check(summary, &pages.into()), expected);
    }
}
