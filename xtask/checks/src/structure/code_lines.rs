//! Lines of code: without comments, blank lines and what exists only in tests.

use std::collections::BTreeSet;
use std::fmt;
use std::path::Path;

use callgate_tasks::Result;
use proc_macro2::{Delimiter, Group, TokenStream, TokenTree};

use super::files::Crate;

/// The crate that must be believed, and how many lines of code an audit of a day reads.
const TRUSTED: (&str, usize) = ("callgate-core", 9_500);

/// The dependencies that it may have outside of tests.
const TRUSTED_DEPENDENCIES: &[Dependency] = &[
    Dependency { name: "rustc-hash", is_optional: false },
    Dependency { name: "serde", is_optional: true },
];

#[derive(Debug, PartialEq, Eq)]
struct Dependency<'a> {
    name: &'a str,
    is_optional: bool,
}

impl fmt::Display for Dependency<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name)?;
        if self.is_optional { f.write_str(" (optional)") } else { Ok(()) }
    }
}

/// What the trusted crate violates, as messages; and its lines of code.
pub(super) fn check_trusted(root: &Path) -> Result<(usize, Vec<String>)> {
    let (name, limit) = TRUSTED;
    let package = root.join("crates").join(name);
    let start = package.join("src/lib.rs");
    let mut errors = Vec::new();
    let lines = count(&Crate::read(&start)?)?;
    if lines > limit {
        errors.push(format!(
            "{name} must be believed, so it has at most {limit} lines of code (without tests, comments and blank lines), \
             not {lines}: move what needs no trust to another crate"
        ));
    }
    let text = read(&start)?;
    if !text.contains("#![forbid(unsafe_code)]") {
        errors.push(format!("{}: #![forbid(unsafe_code)] is missing", start.display()));
    }
    let manifest = read(&package.join("Cargo.toml"))?;
    for dependency in dependencies(&manifest) {
        if !TRUSTED_DEPENDENCIES.contains(&dependency) {
            let known: Vec<String> =
                TRUSTED_DEPENDENCIES.iter().map(Dependency::to_string).collect();
            errors.push(format!(
                "{name} must not have the dependency {dependency}; it may have {} (xtask/checks/src/structure/code_lines.rs)",
                known.join(", ")
            ));
        }
    }
    Ok((lines, errors))
}

/// The lines of code of a crate.
pub(super) fn count(krate: &Crate) -> Result<usize> {
    let mut lines = 0;
    for file in &krate.files {
        let tokens: TokenStream =
            read(&file.path)?.parse().map_err(|why| format!("{}: {why}", file.path.display()))?;
        lines += of_tokens(tokens);
    }
    Ok(lines)
}

fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(|why| format!("{}: {why}", path.display()))
}

/// The dependencies of a manifest that are not for tests.
fn dependencies(manifest: &str) -> Vec<Dependency<'_>> {
    let mut is_inside = false;
    let mut found = Vec::new();
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_inside = line.ends_with("dependencies]") && !line.contains("dev-dependencies");
        } else if is_inside {
            let name = line.split(['=', '.', ' ']).next().unwrap_or_default();
            if !name.is_empty() && !name.starts_with('#') {
                let is_optional = line.contains("optional = true");
                found.push(Dependency { name, is_optional });
            }
        }
    }
    found
}

/// The lines with tokens, except for documentation and for items of tests.
fn of_tokens(tokens: TokenStream) -> usize {
    let mut lines = BTreeSet::new();
    collect(tokens, &mut lines);
    lines.len()
}

fn collect(tokens: TokenStream, lines: &mut BTreeSet<usize>) {
    let mut tokens = tokens.into_iter().peekable();
    while let Some(token) = tokens.next() {
        if matches!(&token, TokenTree::Punct(punct) if punct.as_char() == '#') {
            let is_inner = |token: &TokenTree| matches!(token, TokenTree::Punct(punct) if punct.as_char() == '!');
            let inner = tokens.next_if(is_inner);
            let is_group = |token: &TokenTree| matches!(token, TokenTree::Group(group) if group.delimiter() == Delimiter::Bracket);
            if let Some(TokenTree::Group(attribute)) = tokens.next_if(is_group) {
                match kind(&attribute) {
                    Attribute::Documentation => {}
                    Attribute::Test if inner.is_none() => skip_item(&mut tokens),
                    _ => {
                        lines.insert(token.span().start().line);
                        add(&attribute, lines);
                    }
                }
                continue;
            }
        }
        match token {
            TokenTree::Group(group) => add(&group, lines),
            other => lines.extend(other.span().start().line..=other.span().end().line),
        }
    }
}

fn add(group: &Group, lines: &mut BTreeSet<usize>) {
    lines.extend([group.span_open().start().line, group.span_close().end().line]);
    collect(group.stream(), lines);
}

enum Attribute {
    Documentation,
    Test,
    Other,
}

fn kind(attribute: &Group) -> Attribute {
    let text = attribute.stream().to_string().replace(' ', "");
    let is_test = text == "test"
        || ["cfg(test", "cfg(any(test", "cfg(all(test", "cfg(doctest"]
            .iter()
            .any(|of| text.starts_with(of));
    match text {
        _ if is_test => Attribute::Test,
        text if text.starts_with("doc=") || text.starts_with("doc(") => Attribute::Documentation,
        _ => Attribute::Other,
    }
}

/// Skips the item after an attribute: to its semicolon or its braces.
fn skip_item(tokens: &mut impl Iterator<Item = TokenTree>) {
    let mut is_use = false;
    for token in tokens {
        match token {
            TokenTree::Ident(word) if word == "use" => is_use = true,
            TokenTree::Punct(punct) if punct.as_char() == ';' => return,
            TokenTree::Group(group) if group.delimiter() == Delimiter::Brace && !is_use => return,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_blank_lines_and_tests_do_not_count() {
        let source = "//! Text.\n#![forbid(unsafe_code)]\n\nuse a::b;\n\n/// Text.\n#[derive(Debug)]\nstruct S;\n\n\
                      #[cfg(test)]\nuse c::{d, e};\n#[cfg(test)]\nmod tests {\n    fn f() {}\n}\n\
                      fn g() {\n    // Text.\n    h(\n        1,\n    );\n}\n#[cfg(any(test, feature = \"x\"))]\nmod y;\n";
        // forbid, use, derive, struct, and six lines of `g` less one comment.
        assert_eq!(of_tokens(source.parse().unwrap()), 9);
    }

    #[test]
    fn dependencies_of_tests_are_not_trusted() {
        let manifest = "[dependencies]\nhash = \"1\"\nserde = { version = \"1\", optional = true }\nlong.workspace = true\n\
                        [dev-dependencies]\nother = \"1\"\n[target.'cfg(unix)'.dependencies]\nlibc = \"0.2\"\n";
        let named = |name, is_optional| Dependency { name, is_optional };
        let wanted = [
            named("hash", false),
            named("serde", true),
            named("long", false),
            named("libc", false),
        ];
        assert_eq!(dependencies(manifest), wanted);
    }
}
