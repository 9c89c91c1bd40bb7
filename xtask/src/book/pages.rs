//! The pages of the book: those of `docs`, with links to the repository in place of those that leave `docs`.

use std::collections::BTreeMap;
use std::path::{Component, Path, PathBuf};

use callgate_tasks::files::read;

use super::markdown::{anchors, links};

/// The directory of the pages.
pub(super) const DOCS: &str = "docs";

/// The branch that links to the repository name.
const BRANCH: &str = "main";

/// Rewrites pages, and remembers the headings of those that it has read.
pub(super) struct Links<'a> {
    /// The root of the tree.
    root: &'a Path,
    /// The address of the repository.
    repository: &'a str,
    /// The anchors of pages, by their path below the root.
    anchors: BTreeMap<PathBuf, Vec<String>>,
}

/// Where a link of a page leads.
enum Target {
    /// To what the text says.
    Unchanged,
    /// To this address.
    Changed(String),
}

impl<'a> Links<'a> {
    pub(super) fn new(root: &'a Path, repository: &'a str) -> Links<'a> {
        Links { root, repository, anchors: BTreeMap::new() }
    }

    /// The text of a page for the book. Links to files or headings that do not exist are errors, as messages.
    pub(super) fn rewrite(&mut self, page: &str, text: &str) -> Result<String, Vec<String>> {
        let directory = Path::new(DOCS).join(page);
        let directory = directory.parent().unwrap_or(Path::new(DOCS)).to_owned();
        let (mut rewritten, mut end, mut errors) =
            (String::with_capacity(text.len()), 0, Vec::new());
        for link in links(text) {
            match self.target(&directory, page, link.target) {
                Ok(Target::Unchanged) => {}
                Ok(Target::Changed(address)) => {
                    rewritten += &text[end..link.range.start];
                    rewritten += &address;
                    end = link.range.end;
                }
                Err(why) => {
                    let line = text[..link.range.start].matches('\n').count() + 1;
                    errors.push(format!("{DOCS}/{page}:{line}: {why}"));
                }
            }
        }
        rewritten += &text[end..];
        if errors.is_empty() { Ok(rewritten) } else { Err(errors) }
    }

    fn target(&mut self, directory: &Path, page: &str, target: &str) -> Result<Target, String> {
        if target.contains("://") || target.starts_with("mailto:") {
            return Ok(Target::Unchanged);
        }
        let (path, fragment) = target.split_once('#').unwrap_or((target, ""));
        let path = match path {
            "" => Path::new(DOCS).join(page),
            path => normal(&directory.join(path))
                .ok_or_else(|| format!("{target} leads out of the tree"))?,
        };
        let whole = self.root.join(&path);
        if !whole.exists() {
            return Err(format!("no such file: {target}"));
        }
        if !fragment.is_empty() && path.extension().is_some_and(|extension| extension == "md") {
            let anchors = self.anchors(&path)?;
            if !anchors.iter().any(|anchor| anchor == fragment) {
                return Err(format!("no heading for #{fragment} in {}", path.display()));
            }
        }
        let is_directory = whole.is_dir();
        if path.starts_with(DOCS) && !is_directory {
            // mdbook renders README.md as index.html, and does not change links to it.
            let is_index = path.file_name().is_some_and(|name| name == "README.md");
            return Ok(match is_index.then(|| target.replacen("README.md", "index.md", 1)) {
                Some(index) => Target::Changed(index),
                None => Target::Unchanged,
            });
        }
        // GitHub shows a page for a file and a list for a directory; an image needs the file itself.
        let is_image = path
            .extension()
            .is_some_and(|extension| ["png", "svg", "jpg"].iter().any(|image| extension == *image));
        let kind = match () {
            () if is_directory => "tree",
            () if is_image => "raw",
            () => "blob",
        };
        let fragment = if fragment.is_empty() { String::new() } else { format!("#{fragment}") };
        let Links { repository, .. } = self;
        Ok(Target::Changed(format!("{repository}/{kind}/{BRANCH}/{}{fragment}", path.display())))
    }

    fn anchors(&mut self, path: &Path) -> Result<&[String], String> {
        if !self.anchors.contains_key(path) {
            let text = String::from_utf8_lossy(&read(&self.root.join(path))?).into_owned();
            self.anchors.insert(path.to_owned(), anchors(&text).into_iter().collect());
        }
        Ok(self.anchors.get(path).map_or(&[], Vec::as_slice))
    }
}

/// A path without `.` and `..`; `None` if it leaves the tree.
fn normal(path: &Path) -> Option<PathBuf> {
    let mut normal = PathBuf::new();
    for component in path.components() {
        match component {
            Component::Normal(name) => normal.push(name),
            Component::CurDir => {}
            Component::ParentDir if normal.pop() => {}
            _ => return None,
        }
    }
    Some(normal)
}

#[cfg(test)]
mod tests {
    use callgate_tasks::workspace;

    use super::super::summary::pages;
    use super::*;

    const PLACE: &str = "https://example.org/callgate";

    fn rewrite(page: &str, text: &str) -> Result<String, Vec<String>> {
        Links::new(&workspace(), PLACE).rewrite(page, text)
    }

    #[test]
    fn links_of_this_tree_lead_to_files_and_headings() {
        let root = workspace();
        let mut links = Links::new(&root, PLACE);
        let mut errors = Vec::new();
        for (page, text) in pages(&root.join(DOCS)).unwrap() {
            errors.extend(links.rewrite(&page, &text).err().unwrap_or_default());
        }
        assert!(errors.is_empty(), "{}", errors.join("\n"));
    }

    #[test]
    fn links_that_leave_the_pages_lead_to_the_repository() {
        let text = "[a](../../README.md#install), [b](../../lab), `[c](../x)` ![d](../images/report.png) [e](trust.md) [f](#g)\n\n# g\n";
        let text = text.replace("(#g)", "(https://g.example)");
        let rewritten = rewrite("explanation/checking.md", &text).unwrap();
        let expected = text
            .replace("../../README.md#install", &format!("{PLACE}/blob/main/README.md#install"))
            .replace("../../lab", &format!("{PLACE}/tree/main/lab"));
        assert_eq!(rewritten, expected);
        let image = rewrite("README.md", "![x](../web/icon.svg)").unwrap();
        assert_eq!(image, format!("![x]({PLACE}/raw/main/web/icon.svg)"));
        let directory = rewrite("README.md", "[x](schemas)").unwrap();
        assert_eq!(directory, format!("[x]({PLACE}/tree/main/docs/schemas)"));
    }

    #[test]
    fn the_page_of_a_directory_has_another_name_in_the_book() {
        let rewritten =
            rewrite("README.md", "[x](developers/decisions/README.md#design-decisions)");
        assert_eq!(rewritten.unwrap(), "[x](developers/decisions/index.md#design-decisions)");
        let rewritten = rewrite("developers/map.md", "[x](../README.md)");
        assert_eq!(rewritten.unwrap(), "[x](../index.md)");
    }

    #[test]
    fn dead_links_are_errors() {
        for (link, why) in [
            ("missing.md", "no such file: missing.md"),
            ("../../missing", "no such file: ../../missing"),
            ("../../../x", "../../../x leads out of the tree"),
            ("trust.md#none", "no heading for #none in docs/explanation/trust.md"),
            ("../../README.md#none", "no heading for #none in README.md"),
        ] {
            let errors = rewrite("explanation/checking.md", &format!("\n[x]({link})")).unwrap_err();
            assert_eq!(errors, [format!("docs/explanation/checking.md:2: {why}")]);
        }
    }
}
