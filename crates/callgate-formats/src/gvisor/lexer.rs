//! Tokens of Go, without comments.

use callgate_bpf::diagnostic::Diagnostic;

use crate::diagnostics::positions::Positions;

/// A token with its byte offset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'t> {
    pub(super) at: usize,
    pub(super) kind: Kind,
    pub(super) text: &'t str,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Word,
    Number,
    /// A string or a character.
    Text,
    /// A punctuation mark; `<<`, `>>`, `&^` and `:=` are one.
    Mark,
}

impl Token<'_> {
    pub(super) fn is(&self, text: &str) -> bool {
        self.kind != Kind::Text && self.text == text
    }
}

/// Marks of two characters.
const LONG: [&str; 4] = ["<<", ">>", "&^", ":="];

/// The tokens of a text.
///
/// # Errors
/// If a comment or a string does not end.
pub(super) fn tokens<'t>(
    text: &'t str,
    positions: &Positions<'_>,
) -> Result<Vec<Token<'t>>, Diagnostic> {
    let mut tokens = Vec::new();
    let mut at = 0;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        let open = |what: &str| {
            Diagnostic::error(Some(positions.of(at)), format!("{what} does not end"))
                .help("give the whole file")
        };
        let first = rest.chars().next().unwrap_or_default();
        let (kind, length) = if first.is_whitespace() {
            at += first.len_utf8();
            continue;
        } else if rest.starts_with("//") {
            at += rest.find('\n').unwrap_or(rest.len());
            continue;
        } else if rest.starts_with("/*") {
            at += rest.find("*/").ok_or_else(|| open("a comment"))? + 2;
            continue;
        } else if first == '`' {
            let end = rest.get(1..).and_then(|inner| inner.find('`'));
            (Kind::Text, end.ok_or_else(|| open("a string"))? + 2)
        } else if matches!(first, '"' | '\'') {
            (Kind::Text, quoted(rest, first).ok_or_else(|| open("a string"))?)
        } else if first.is_alphabetic() || first == '_' {
            let end = rest.find(|c: char| !(c.is_alphanumeric() || c == '_'));
            (Kind::Word, end.unwrap_or(rest.len()))
        } else if first.is_ascii_digit() {
            let end = rest.find(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
            (Kind::Number, end.unwrap_or(rest.len()))
        } else {
            let is_long = LONG.iter().any(|mark| rest.starts_with(mark));
            (Kind::Mark, if is_long { 2 } else { first.len_utf8() })
        };
        tokens.push(Token { at, kind, text: rest.get(..length).unwrap_or_default() });
        at += length;
    }
    Ok(tokens)
}

/// The length of a string in these quotes; `None` if it does not end in its line.
fn quoted(rest: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in rest.char_indices().skip(1) {
        match c {
            '\n' => return None,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}
