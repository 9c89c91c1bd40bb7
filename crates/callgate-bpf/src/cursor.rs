//! A position among tokens.

use crate::diagnostic::{Diagnostic, Position, error};
use crate::token::{Token, quote, starts};

pub(crate) type Result<T, E = Diagnostic> = std::result::Result<T, E>;

/// The tokens that are not read yet.
#[derive(Clone, Copy)]
pub(crate) struct Cursor<'t, 'a> {
    rest: &'t [Token<'a>],
    end: Position,
    /// What messages say of the end: `at the end of the line`.
    at_end: &'static str,
}

impl<'t, 'a> Cursor<'t, 'a> {
    /// The tokens of a line.
    pub(crate) fn of_line(line: &'t [Token<'a>]) -> Self {
        let end = line.last().map_or(Position::START, Token::end);
        Cursor { rest: line, end, at_end: "at the end of the line" }
    }

    /// Tokens of a text; `end` is the position for errors after the last one.
    pub(crate) fn new(tokens: &'t [Token<'a>], end: Position) -> Self {
        Cursor { rest: tokens, end, at_end: "before the end of the text" }
    }

    pub(crate) fn rest(&self) -> &'t [Token<'a>] {
        self.rest
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn peek(&self) -> Option<Token<'a>> {
        self.rest.first().copied()
    }

    pub(crate) fn next(&mut self) -> Option<Token<'a>> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    pub(crate) fn skip(&mut self, tokens: usize) {
        self.rest = self.rest.get(tokens..).unwrap_or_default();
    }

    /// The position of the next token, or of the end.
    pub(crate) fn position(&self) -> Position {
        self.peek().map_or(self.end, |token| token.position)
    }

    pub(crate) fn starts(&self, marks: &str) -> bool {
        starts(self.rest, marks)
    }

    pub(crate) fn starts_name(&self) -> bool {
        self.peek().is_some_and(|token| token.is_name())
    }

    pub(crate) fn starts_number(&self) -> bool {
        self.peek().is_some_and(|token| token.is_number())
    }

    /// Skips marks, if they are next.
    pub(crate) fn take(&mut self, marks: &str) -> bool {
        let is_next = self.starts(marks);
        self.skip(if is_next { marks.len() } else { 0 });
        is_next
    }

    /// Skips a word, if it is next.
    pub(crate) fn take_word(&mut self, word: &str) -> bool {
        let is_next = self.peek().is_some_and(|token| token.is_word(word));
        self.skip(usize::from(is_next));
        is_next
    }

    /// Skips marks, which must be next.
    pub(crate) fn expect(&mut self, marks: &str) -> Result<()> {
        for mark in marks.split_inclusive(|_| true) {
            if !self.take(mark) {
                return self.fail(&format!("`{mark}`"));
            }
        }
        Ok(())
    }

    /// Skips to the mark that closes an open one.
    pub(crate) fn skip_to_close(&mut self, open: char, close: char) -> Result<()> {
        let mut depth = 1usize;
        while depth > 0 {
            match self.next() {
                Some(token) if token.is(open) => depth += 1,
                Some(token) if token.is(close) => depth -= 1,
                Some(_) => {}
                None => return self.fail(&format!("`{close}`")),
            }
        }
        Ok(())
    }

    pub(crate) fn expect_word(&mut self, word: &str) -> Result<()> {
        if self.take_word(word) { Ok(()) } else { self.fail(&format!("`{word}`")) }
    }

    pub(crate) fn fail<T>(&self, expected: &str) -> Result<T> {
        Err(self.expected(expected))
    }

    pub(crate) fn expected(&self, what: &str) -> Diagnostic {
        let message = match self.peek() {
            Some(token) => format!("expected {what}, found {}", quote(token.text)),
            None => format!("expected {what} {}", self.at_end),
        };
        error(self.position(), message)
    }
}
