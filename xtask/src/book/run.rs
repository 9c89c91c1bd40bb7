//! The task.

use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::process::Command;

use callgate_tasks::files::{copy, make, read, remove, write};
use callgate_tasks::{Result, workspace};

use super::pages::{DOCS, Links};
use super::summary::{self, SUMMARY};
use super::{html, serve};
use crate::owner::Owner;
use crate::wasm::target;

pub(crate) const HELP: &str = "\
usage: cargo xtask book [--serve] [--port PORT] [--output DIR]

Builds the pages of docs as a book with search, by mdbook, which `cargo install
mdbook --locked` installs. docs/SUMMARY.md lists the pages, and book.toml has the
settings. Links that leave docs lead to the repository. The web page is part of the
book, as the directory `page`, if `cargo xtask web` has built it before.

Fails if docs/SUMMARY.md lacks a page or has one that does not exist, or if a link
leads to a file, a heading or an anchor that does not exist.

  --serve         serve the book on 127.0.0.1 until the process is ended
  --port PORT     the port for --serve [default: 3000]; 0 is any free one
  --output DIR    where to write the book [default: book in the directory of
                  cargo's outputs, such as target/book]
";

/// The directory of the web page in the book.
const PAGE: &str = "page";

/// The page about the web page, and the title under which the book has a link to it.
const ABOUT_PAGE: &str = "reference/web-page.md";

struct Options {
    output: PathBuf,
    port: Option<u16>,
}

/// Builds the book.
pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let options = options(arguments)?;
    let root = workspace();
    let web = Some(target().join("web")).filter(|web| web.join("index.html").exists());
    let source = target().join("book-src");
    prepare(&root, &source, web.is_some())?;
    remove(&options.output)?;
    build(&source, &options.output)?;
    if let Some(web) = &web {
        copy(web, &options.output.join(PAGE))?;
    }
    let (pages, links, errors) = html::check(&options.output, PAGE)?;
    report(&errors)?;
    let page = if web.is_some() { "" } else { ", without the web page (cargo xtask web)" };
    println!("{}: {pages} pages, {links} links{page}", options.output.display());
    match options.port {
        Some(port) => serve::serve(&options.output, port),
        None => Ok(()),
    }
}

fn options(arguments: &[String]) -> Result<Options> {
    let (mut output, mut is_served, mut port) = (target().join("book"), false, None);
    let mut rest = arguments.iter();
    while let Some(option) = rest.next() {
        match (option.as_str(), rest.as_slice()) {
            ("--serve", _) => is_served = true,
            ("--port", [number, ..]) => {
                let number = number.parse().map_err(|_| format!("{number:?} is not a port"))?;
                port = Some(number);
                rest.next();
            }
            ("--output", [path, ..]) => {
                output = PathBuf::from(path);
                rest.next();
            }
            _ => return Err(format!("unknown arguments\n\n{HELP}")),
        }
    }
    if port.is_some() && !is_served {
        return Err("--port is for --serve".to_owned());
    }
    let output =
        std::path::absolute(&output).map_err(|error| format!("{}: {error}", output.display()))?;
    Ok(Options { output, port: is_served.then(|| port.unwrap_or(3000)) })
}

/// Writes the source of the book: a copy of `docs` with links to the repository, and the settings.
fn prepare(root: &Path, source: &Path, has_page: bool) -> Result<()> {
    let docs = root.join(DOCS);
    let pages = summary::pages(&docs)?;
    let list = String::from_utf8_lossy(&read(&docs.join(SUMMARY))?).into_owned();
    let mut errors = summary::check(&list, &pages);
    remove(source)?;
    make(source)?;
    copy(&docs, &source.join(DOCS))?;
    write(&source.join("book.toml"), read(&root.join("book.toml"))?)?;
    let repository = format!("https://{}", Owner::of(root)?.place());
    let mut links = Links::new(root, &repository);
    for (page, text) in &pages {
        match links.rewrite(page, text) {
            Ok(mut text) => {
                if has_page && page == ABOUT_PAGE {
                    text = with_link(&text)?;
                }
                write(&source.join(DOCS).join(page), text)?;
            }
            Err(found) => errors.extend(found),
        }
    }
    report(&errors)
}

/// The page about the web page with a link to the one in the book, below its title.
fn with_link(text: &str) -> Result<String> {
    let (title, rest) = text
        .split_once('\n')
        .filter(|(title, _)| title.starts_with("# "))
        .ok_or_else(|| format!("{DOCS}/{ABOUT_PAGE}: does not begin with a title"))?;
    let up = "../".repeat(ABOUT_PAGE.matches('/').count());
    Ok(format!("{title}\n\n[**Open the page**]({up}{PAGE}/index.html)\n{rest}"))
}

/// Runs mdbook. What it warns about is an error.
fn build(source: &Path, output: &Path) -> Result<()> {
    let mut mdbook = Command::new("mdbook");
    mdbook.arg("build").arg(source).arg("--dest-dir").arg(output);
    let done = mdbook.output().map_err(|error| match error.kind() {
        ErrorKind::NotFound => {
            "mdbook is not installed; install it: cargo install mdbook --locked".to_owned()
        }
        _ => format!("mdbook: {error}"),
    })?;
    let said = [done.stdout, done.stderr].concat();
    let said = String::from_utf8_lossy(&said);
    let warned = said.lines().any(|line| line.contains("WARN") || line.contains("ERROR"));
    if done.status.success() && !warned {
        return Ok(());
    }
    Err(format!("mdbook: {}\n{}", done.status, said.trim()))
}

/// Fails with messages, if there are any.
fn report(errors: &[String]) -> Result<()> {
    match errors {
        [] => Ok(()),
        _ => Err(format!("{} errors\n\n{}", errors.len(), errors.join("\n"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn options_are_read() {
        assert_eq!(options(&words("")).unwrap().port, None);
        assert_eq!(options(&words("--serve")).unwrap().port, Some(3000));
        let given = options(&words("--serve --port 0 --output /x/y")).unwrap();
        assert_eq!((given.port, given.output), (Some(0), PathBuf::from("/x/y")));
        assert!(options(&words("--output x")).unwrap().output.is_absolute());
        for wrong in ["--port 1", "--serve --port x", "--serve --port", "--output", "x"] {
            assert!(options(&words(wrong)).is_err(), "{wrong}");
        }
    }

    #[test]
    fn the_page_about_the_web_page_gets_a_link() {
        let text = read(&workspace().join(DOCS).join(ABOUT_PAGE)).unwrap();
        let text = with_link(&String::from_utf8(text).unwrap()).unwrap();
        let third = text.lines().nth(2);
        assert_eq!(third, Some("[**Open the page**](../page/index.html)"));
        with_link("no title\n").unwrap_err();
    }
}
