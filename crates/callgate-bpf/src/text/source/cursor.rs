//! A position among the tokens of source code.

use super::super::error::error;
use crate::diagnostic::{Diagnostic, Position};
use crate::lexer::{Token, quote};

pub(super) type Result<T> = std::result::Result<T, Diagnostic>;

/// The tokens that are not read yet.
#[derive(Clone, Copy)]
pub(super) struct Cursor<'t, 'a> {
    rest: &'t [Token<'a>],
    end: Position,
}

impl<'t, 'a> Cursor<'t, 'a> {
    /// All tokens; `end` is the position for errors after the last one.
    pub(super) fn new(tokens: &'t [Token<'a>], end: Position) -> Self {
        Cursor { rest: tokens, end }
    }

    pub(super) fn rest(&self) -> &'t [Token<'a>] {
        self.rest
    }

    pub(super) fn peek(&self) -> Option<Token<'a>> {
        self.rest.first().copied()
    }

    pub(super) fn next(&mut self) -> Option<Token<'a>> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    pub(super) fn skip(&mut self, tokens: usize) {
        self.rest = self.rest.get(tokens..).unwrap_or_default();
    }

    pub(super) fn position(&self) -> Position {
        self.peek().map_or(self.end, |token| token.position)
    }

    pub(super) fn starts(&self, marks: &[char]) -> bool {
        marks.len() <= self.rest.len()
            && marks.iter().zip(self.rest).all(|(mark, token)| token.is(*mark))
    }

    pub(super) fn take(&mut self, mark: char) -> bool {
        let there = self.starts(&[mark]);
        if there {
            self.next();
        }
        there
    }

    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let there = self.peek().is_some_and(|token| token.is_word(word));
        if there {
            self.next();
        }
        there
    }

    pub(super) fn expect(&mut self, mark: char) -> Result<()> {
        if self.take(mark) { Ok(()) } else { self.fail(&format!("`{mark}`")) }
    }

    pub(super) fn fail<T>(&self, expected: &str) -> Result<T> {
        let found = match self.peek() {
            Some(token) => format!(", found {}", quote(token.text)),
            None => " before the end of the text".to_owned(),
        };
        Err(error(self.position(), format!("expected {expected}{found}")))
    }

    /// Skips parentheses and what is in them.
    pub(super) fn skip_parentheses(&mut self) -> Result<()> {
        self.expect('(')?;
        let mut open = 1usize;
        while open > 0 {
            match self.next() {
                Some(token) if token.is('(') => open += 1,
                Some(token) if token.is(')') => open -= 1,
                Some(_) => {}
                None => return self.fail("`)`"),
            }
        }
        Ok(())
    }

    /// Skips to the brace that closes an open one.
    pub(super) fn skip_braces(&mut self) -> Result<()> {
        let mut open = 1usize;
        while open > 0 {
            match self.next() {
                Some(token) if token.is('{') => open += 1,
                Some(token) if token.is('}') => open -= 1,
                Some(_) => {}
                None => return self.fail("`}`"),
            }
        }
        Ok(())
    }
}
