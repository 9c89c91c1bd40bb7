//! Dead links of the book as mdbook has built it.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use callgate_tasks::Result;
use callgate_tasks::files::{directories, files, read};

/// What a page of HTML has and names.
#[derive(Default)]
struct Page {
    anchors: BTreeSet<String>,
    links: Vec<String>,
}

/// Links to files or anchors that the book does not have, as messages, and the numbers of pages and links. The directory `other`
/// is part of the book, and its pages are not checked.
pub(super) fn check(book: &Path, other: &str) -> Result<(usize, usize, Vec<String>)> {
    let mut pages = BTreeMap::new();
    let mut open = vec![book.to_owned()];
    while let Some(directory) = open.pop() {
        for path in files(&directory, "html")? {
            let text = String::from_utf8_lossy(&read(&path)?).into_owned();
            pages.insert(path.strip_prefix(book).unwrap_or(&path).to_owned(), parse(&text));
        }
        open.extend(directories(&directory)?.into_iter().filter(|path| *path != book.join(other)));
    }
    let (mut count, mut errors) = (0, BTreeSet::new());
    for (path, page) in &pages {
        for link in &page.links {
            count += 1;
            if let Some(why) = problem(book, &pages, path, link) {
                errors.insert(format!("{}: {link}: {why}", path.display()));
            }
        }
    }
    Ok((pages.len(), count, errors.into_iter().collect()))
}

/// What is wrong with a link.
fn problem(
    book: &Path,
    pages: &BTreeMap<PathBuf, Page>,
    from: &Path,
    link: &str,
) -> Option<String> {
    let (address, fragment) = link.split_once('#').unwrap_or((link, ""));
    let address = address.split('?').next().unwrap_or_default();
    let scheme = address.split_once(':').map(|(scheme, _)| scheme);
    if scheme.is_some_and(|scheme| scheme.bytes().all(|byte| byte.is_ascii_alphanumeric())) {
        return None;
    }
    if address.starts_with('/') {
        return Some("is not relative, so the book must be at the root of its server".to_owned());
    }
    let mut path = from.parent().unwrap_or(Path::new("")).to_owned();
    if address.is_empty() {
        path = from.to_owned();
    }
    for component in Path::new(&decoded(address)).components() {
        match component {
            Component::Normal(name) => path.push(name),
            Component::ParentDir if !path.pop() => return Some("leads out of the book".to_owned()),
            _ => {}
        }
    }
    if book.join(&path).is_dir() {
        path.push("index.html");
    }
    if !book.join(&path).exists() {
        return Some("no such file".to_owned());
    }
    let page = pages.get(&path)?;
    let is_missing = !fragment.is_empty() && !page.anchors.contains(&decoded(fragment));
    is_missing.then(|| "no such anchor".to_owned())
}

/// The anchors and links of a page. Scripts, styles and comments have none.
fn parse(text: &str) -> Page {
    let (mut page, mut rest) = (Page::default(), text);
    while let Some((_, tag)) = rest.split_once('<') {
        if let Some(comment) = tag.strip_prefix("!--") {
            rest = comment.split_once("-->").map_or("", |(_, rest)| rest);
            continue;
        }
        let mut at = 0;
        for (name, value, end) in (Attributes { tag, at: name_length(tag) }) {
            at = end;
            match name {
                "id" | "name" => drop(page.anchors.insert(decoded_entities(value))),
                "href" | "src" => page.links.push(decoded_entities(value)),
                _ => {}
            }
        }
        rest = tag.get(at..).and_then(|rest| rest.split_once('>')).map_or("", |(_, rest)| rest);
        for element in ["script", "style"] {
            if tag.get(..element.len()) == Some(element) {
                let end = format!("</{element}");
                rest = rest.find(&end).map_or("", |at| rest.get(at..).unwrap_or_default());
            }
        }
    }
    page
}

/// The length of the name of an element.
fn name_length(tag: &str) -> usize {
    tag.find(|letter: char| letter.is_whitespace() || letter == '>').unwrap_or(tag.len())
}

/// The attributes of a tag: name, value, and where it ends.
struct Attributes<'a> {
    tag: &'a str,
    at: usize,
}

impl<'a> Iterator for Attributes<'a> {
    type Item = (&'a str, &'a str, usize);

    fn next(&mut self) -> Option<Self::Item> {
        let rest = self.tag.get(self.at..)?;
        let start =
            self.at + (rest.len() - rest.trim_start_matches([' ', '\n', '\r', '\t', '/']).len());
        let rest = self.tag.get(start..)?;
        let length =
            rest.find(|letter: char| letter.is_whitespace() || matches!(letter, '=' | '>' | '/'))?;
        let name = rest.get(..length).filter(|name| !name.is_empty())?;
        let value = rest.get(length..)?.strip_prefix('=').unwrap_or_default();
        let (quote, value) = match value.chars().next() {
            Some(quote @ ('"' | '\'')) => (1, value.get(1..)?.split(quote).next()?),
            _ => (0, value.split(|letter: char| letter.is_whitespace() || letter == '>').next()?),
        };
        let has_value = rest.get(length..)?.starts_with('=');
        self.at = start + length + usize::from(has_value) + 2 * quote + value.len();
        Some((name, value, self.at))
    }
}

/// A value without references to characters that mdbook writes in addresses.
fn decoded_entities(value: &str) -> String {
    value.replace("&quot;", "\"").replace("&#39;", "'").replace("&#x27;", "'").replace("&amp;", "&")
}

/// An address without `%`.
pub(super) fn decoded(address: &str) -> String {
    let mut bytes = Vec::new();
    let mut rest = address.as_bytes();
    while let [first, tail @ ..] = rest {
        let digits = (*first == b'%').then(|| tail.get(..2)).flatten();
        let byte = digits
            .and_then(|digits| std::str::from_utf8(digits).ok())
            .and_then(|digits| u8::from_str_radix(digits, 16).ok());
        bytes.push(byte.unwrap_or(*first));
        rest = if byte.is_some() { tail.get(2..).unwrap_or_default() } else { tail };
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

#[cfg(test)]
mod tests {
    use callgate_tasks::files::{make, remove, write};

    use super::*;

    #[test]
    fn attributes_are_read_and_scripts_are_not() {
        let page = parse(
            "<!doctype html><h2 id=\"a\"><a class='x' href='b.html#c&amp;d'>t</a></h2><!-- <a href=\"no\"> -->\
             <script defer src=\"s.js\">\"<a href='no'>\"</script><img alt=\"a > b\" src=i.png><a\nname=\"n\">",
        );
        assert_eq!(page.links, ["b.html#c&d", "s.js", "i.png"]);
        assert_eq!(page.anchors.into_iter().collect::<Vec<_>>(), ["a", "n"]);
    }

    #[test]
    fn dead_links_and_anchors_are_found() {
        let book = std::env::temp_dir().join(format!("callgate-book-{}", std::process::id()));
        remove(&book).unwrap();
        make(&book.join("a")).unwrap();
        make(&book.join("page")).unwrap();
        let start = "<h1 id=\"x%\"></h1><a href=\"a/b.html#y\"></a><a href=\"#x%25\"></a><a href=\"https://x/y\"></a>\
                     <a href=\"page/\"></a><a href=\"mailto:x\"></a><a href=\"none.html\"></a><a href=\"a/b.html#z\"></a>\
                     <a href=\"/b\"></a><a href=\"../b\"></a>";
        write(&book.join("index.html"), start).unwrap();
        write(&book.join("a/b.html"), "<p id=y><a href=\"../index.html?q#\"></a>").unwrap();
        write(&book.join("page/index.html"), "<a href=\"#state\"></a>").unwrap();
        let (pages, links, errors) = check(&book, "page").unwrap();
        remove(&book).unwrap();
        assert_eq!((pages, links), (2, 10));
        let expected = [
            "index.html: ../b: leads out of the book",
            "index.html: /b: is not relative, so the book must be at the root of its server",
            "index.html: a/b.html#z: no such anchor",
            "index.html: none.html: no such file",
        ];
        assert_eq!(errors, expected);
    }
}
