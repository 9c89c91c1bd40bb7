//! The tokens that are left, and messages about them.

use callgate_bpf::diagnostic::{Diagnostic, Position};
use callgate_bpf::text::Definition;

use super::lexer::Token;
use crate::diagnostics::positions::Positions;

/// The next tokens of a text.
pub(super) struct Cursor<'c, 't> {
    tokens: &'c [Token<'t>],
    positions: &'c Positions<'t>,
    /// The offset of the end.
    end: usize,
    /// The values that the caller gives to names.
    definitions: &'c [Definition],
}

impl<'c, 't> Cursor<'c, 't> {
    pub(super) fn new(
        tokens: &'c [Token<'t>],
        positions: &'c Positions<'t>,
        end: usize,
        definitions: &'c [Definition],
    ) -> Cursor<'c, 't> {
        Cursor { tokens, positions, end, definitions }
    }

    /// The value that the caller gives to a name.
    pub(super) fn defined(&self, name: &str) -> Option<&'c str> {
        self.definitions.iter().rev().find(|one| one.name() == name)?.value()
    }

    pub(super) fn rest(&self) -> &'c [Token<'t>] {
        self.tokens
    }

    pub(super) fn skip(&mut self, count: usize) {
        self.tokens = self.tokens.get(count..).unwrap_or_default();
    }

    pub(super) fn next(&mut self) -> Option<Token<'t>> {
        let (first, rest) = self.tokens.split_first()?;
        self.tokens = rest;
        Some(*first)
    }

    /// The offset of the next token.
    pub(super) fn at(&self) -> usize {
        self.tokens.first().map_or(self.end, |token| token.at)
    }

    /// Skips tokens if they are next.
    pub(super) fn take_all(&mut self, texts: &[&str]) -> bool {
        let is_next = self.tokens.len() >= texts.len()
            && texts.iter().zip(self.tokens).all(|(text, token)| token.is(text));
        self.skip(if is_next { texts.len() } else { 0 });
        is_next
    }

    pub(super) fn take(&mut self, text: &str) -> bool {
        self.take_all(&[text])
    }

    pub(super) fn expect(&mut self, text: &str) -> Result<(), Diagnostic> {
        if self.take(text) {
            return Ok(());
        }
        let found = self.tokens.first().map_or("the end of the text", |token| token.text);
        Err(self.error(self.at(), format!("expected `{text}`, found `{found}`")))
    }

    pub(super) fn position(&self, at: usize) -> Position {
        self.positions.of(at)
    }

    pub(super) fn error(&self, at: usize, message: String) -> Diagnostic {
        Diagnostic::error(Some(self.positions.of(at)), message)
    }

    /// An error about what only a run of the program shows.
    pub(super) fn computed(&self, at: usize, what: &str) -> Diagnostic {
        self.error(at, format!("{what}: only literal rules are read"))
            .help("write the value, or catch the filter that the program installs: `callgate dump -- CMD`")
    }

    /// The same about a name, whose value the caller may give.
    pub(super) fn computed_name(&self, at: usize, name: &str) -> Diagnostic {
        self.computed(at, &format!("`{name}` is computed")).help(format!(
            "write the value, give it (--define {name}=NUMBER), or catch the filter that the program installs: \
             `callgate dump -- CMD`"
        ))
    }
}
