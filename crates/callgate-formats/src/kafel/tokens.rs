//! The tokens of a policy with its included files.

use std::collections::VecDeque;

use super::lexer::{LexError, Lexer, Token, TokenKind};
use crate::included::{Includes, Inclusions, Opened, Place, Reports, Sources, Span};

/// How deep inclusions may nest, as in Kafel.
const MAX_DEPTH: usize = 16;

/// Reads tokens, and includes files on the way.
pub(super) struct Tokens<'a, 'i> {
    pub(super) sources: Sources,
    pub(super) reports: Reports,
    includes: &'a mut Includes<'i>,
    /// The texts that are being read, the innermost last.
    open: Vec<Lexer>,
    /// Whether the innermost text is inside `#include`.
    in_directive: Vec<bool>,
    ahead: VecDeque<Token>,
    inclusions: Inclusions,
    end: Place,
}

impl<'a, 'i> Tokens<'a, 'i> {
    /// The tokens of a policy with this identity, if it is known.
    pub(super) fn new(
        text: &str,
        identity: Option<&str>,
        includes: &'a mut Includes<'i>,
    ) -> Tokens<'a, 'i> {
        let sources = Sources::new(text, identity);
        let open = sources.get(0).map(|source| Lexer::new(source.text.clone(), 0));
        let offset = u32::try_from(text.trim_end().len()).unwrap_or(u32::MAX);
        Tokens {
            sources,
            reports: Reports::default(),
            includes,
            open: open.into_iter().collect(),
            in_directive: vec![false],
            ahead: VecDeque::new(),
            inclusions: Inclusions::new(text.len(), MAX_DEPTH),
            end: Place { source: 0, offset },
        }
    }

    /// The token after `n` others, which is not taken.
    pub(super) fn peek_at(&mut self, n: usize) -> Token {
        while self.ahead.len() <= n {
            let next = self.read();
            self.ahead.push_back(next);
        }
        self.ahead.get(n).copied().unwrap_or_else(|| self.end_token())
    }

    pub(super) fn peek(&mut self) -> Token {
        self.peek_at(0)
    }

    /// Takes the next token.
    pub(super) fn take(&mut self) -> Token {
        let next = self.peek();
        self.ahead.pop_front();
        next
    }

    fn end_token(&self) -> Token {
        Token { kind: TokenKind::End, span: Span { at: self.end, len: 0 } }
    }

    fn read(&mut self) -> Token {
        loop {
            let Some(lexer) = self.open.last_mut() else { return self.end_token() };
            if self.in_directive.last() == Some(&true) {
                match lexer.file_name() {
                    Ok(Some((name, at))) => self.include(&name, at),
                    Ok(None) => self.end_directive(),
                    Err(error) => {
                        self.report(error);
                        self.end_directive();
                    }
                }
                continue;
            }
            match lexer.next() {
                Ok(Some(Token { kind: TokenKind::Include, .. })) => {
                    if let Some(inside) = self.in_directive.last_mut() {
                        *inside = true;
                    }
                }
                Ok(Some(token)) => return token,
                Ok(None) => {
                    self.open.pop();
                    self.in_directive.pop();
                }
                Err(error) => self.report(error),
            }
        }
    }

    fn end_directive(&mut self) {
        if let Some(inside) = self.in_directive.last_mut() {
            *inside = false;
        }
    }

    fn report(&mut self, error: LexError) {
        self.reports.error(error.at, error.message).help = error.help.to_owned();
    }

    /// Starts to read an included file.
    fn include(&mut self, name: &str, at: Place) {
        let open: Vec<u16> = self.open.iter().map(Lexer::source).collect();
        let Tokens { sources, reports, includes, inclusions, .. } = self;
        match inclusions.open(name, at, &open, includes, sources, reports) {
            Opened::Source(number) => {
                if let Some(source) = self.sources.get(number) {
                    self.open.push(Lexer::new(source.text.clone(), number));
                    self.in_directive.push(false);
                }
            }
            Opened::Nothing => {}
            Opened::Stop => {
                self.open.clear();
                self.in_directive.clear();
            }
        }
    }
}
