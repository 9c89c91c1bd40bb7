//! Parameters of the function around an array: their values are the arguments, if the text calls the function once.

use super::changed::changes;
use super::types::Types;
use crate::lexer::{Token, TokenKind};

/// How many tokens the parameters of a function may have.
const MAX_HEADER: usize = 500;
/// How many parameters of a text are looked up.
const MAX_LOOKUPS: usize = 100;

/// What the declaration of a parameter begins with.
const TYPES: &[&str] = &[
    "int", "unsigned", "signed", "long", "short", "char", "const", "__u8", "__u16", "__u32",
    "__u64", "__s32", "u8", "u16", "u32", "u64", "i32", "i64", "usize", "uint", "uint8", "uint16",
    "uint32", "uint64", "int32", "int64", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "int32_t",
    "int64_t", "size_t", "c_uint", "c_int", "bool", "void",
];

/// What is known about the value of a parameter.
pub(super) enum Parameter<'t, 'a> {
    /// The argument of the only call.
    Argument(&'t [Token<'a>]),
    /// The name of the function, and how often it is called.
    Unknown { function: &'a str, calls: usize },
    /// The function changes it, or hides it.
    Changed,
}

/// The functions of a text.
pub(super) struct Parameters<'t, 'a> {
    tokens: &'t [Token<'a>],
    /// The open braces around the current place.
    pub(super) blocks: Vec<usize>,
    lookups: usize,
}

impl<'t, 'a> Parameters<'t, 'a> {
    pub(super) fn new(tokens: &'t [Token<'a>]) -> Self {
        Parameters { tokens, blocks: Vec::new(), lookups: 0 }
    }

    /// The parameter with a name of the functions around the current place; `None` if there is none.
    pub(super) fn find(&mut self, name: &str, types: &Types<'_>) -> Option<Parameter<'t, 'a>> {
        if self.lookups >= MAX_LOOKUPS {
            return None;
        }
        self.lookups += 1;
        let found = |block: &usize| Some((*block, self.header(*block, name)?));
        let (block, (at, function, nth)) = self.blocks.iter().rev().take(8).find_map(found)?;
        if self.is_changed(block, name, types) {
            return Some(Parameter::Changed);
        }
        let is_call = |here: usize| {
            let is_open = self.tokens.get(here + 1).is_some_and(|open| open.is('('));
            let before = here.checked_sub(1).and_then(|before| self.tokens.get(before));
            is_open || before.is_some_and(|before| before.is('.') || before.is('>'))
        };
        let is_named = |(here, token): (usize, &Token<'_>)| {
            token.text == function && token.is_name() && !is_call(here)
        };
        // A pointer to the function may be called, too.
        if self.tokens.iter().enumerate().any(is_named) {
            return Some(Parameter::Changed);
        }
        let mut calls = Vec::new();
        for (here, token) in self.tokens.iter().enumerate() {
            if here != at && token.is_name() && token.text == function {
                calls.extend(self.argument(here, nth));
            }
        }
        Some(match calls.as_slice() {
            [only] => Parameter::Argument(only),
            _ => Parameter::Unknown { function, calls: calls.len() },
        })
    }

    /// Whether the body of a function that begins at a brace assigns to a name, declares it again, or takes its address.
    fn is_changed(&self, brace: usize, name: &str, types: &Types<'_>) -> bool {
        let mut depth = 0usize;
        for (at, token) in self.tokens.iter().enumerate().skip(brace) {
            depth += usize::from(token.is('{'));
            depth -= usize::from(token.is('}') && depth > 0);
            if depth == 0 {
                return false;
            }
            let (before, after) = match (self.tokens.get(..at), self.tokens.get(at + 1..)) {
                (Some(before), Some(after)) if token.text == name => (before, after),
                _ => continue,
            };
            let is_address = matches!(before, [.., one, and] if and.is('&')
                && (one.is('(') || one.is(',') || one.is('=')));
            if is_address || changes(before, after, types) > 0 {
                return true;
            }
        }
        false
    }

    /// The function whose body begins at a brace: its place, its name and the index of the parameter.
    fn header(&self, brace: usize, parameter: &str) -> Option<(usize, &'a str, usize)> {
        let close = brace.checked_sub(1)?;
        self.tokens.get(close).filter(|token| token.is(')'))?;
        let from = close.saturating_sub(MAX_HEADER);
        let mut depth = 0usize;
        let open = (from..=close).rev().find(|at| {
            match self.tokens.get(*at).map(|token| token.kind) {
                Some(TokenKind::Mark(')')) => depth += 1,
                Some(TokenKind::Mark('(')) => depth -= 1,
                _ => {}
            }
            depth == 0
        })?;
        let name = self.tokens.get(open.checked_sub(1)?)?;
        let is_keyword = matches!(name.text, "if" | "while" | "for" | "switch");
        if !name.is_name() || is_keyword {
            return None;
        }
        let parameters = split(self.tokens.get(open + 1..close)?);
        let nth = parameters.iter().position(|tokens| {
            let last = tokens.iter().rev().find(|token| token.is_name());
            last.is_some_and(|last| last.text == parameter)
        })?;
        Some((open - 1, name.text, nth))
    }

    /// An argument of the call at a place; `None` if this is a declaration.
    fn argument(&self, at: usize, nth: usize) -> Option<&'t [Token<'a>]> {
        let inside = self
            .tokens
            .get(at + 2..)
            .filter(|_| self.tokens.get(at + 1).is_some_and(|open| open.is('(')))?;
        let mut depth = 0usize;
        let close = inside.iter().take(MAX_HEADER).position(|token| {
            let is_end = token.is(')') && depth == 0;
            match token.kind {
                TokenKind::Mark('(') => depth += 1,
                TokenKind::Mark(')') if !is_end => depth -= 1,
                _ => {}
            }
            is_end
        })?;
        let argument = split(inside.get(..close)?).get(nth).copied()?;
        let is_declared = argument
            .first()
            .is_some_and(|first| TYPES.contains(&first.text) || first.is_word("struct"));
        let is_definition = inside.get(close + 1).is_some_and(|next| next.is('{'));
        (!argument.is_empty() && !is_declared && !is_definition).then_some(argument)
    }
}

/// The parts between commas outside parentheses.
fn split<'t, 'a>(tokens: &'t [Token<'a>]) -> Vec<&'t [Token<'a>]> {
    let mut depth = 0usize;
    tokens
        .split(|token| {
            match token.kind {
                TokenKind::Mark('(') => depth += 1,
                TokenKind::Mark(')') => depth = depth.saturating_sub(1),
                _ => {}
            }
            depth == 0 && token.is(',')
        })
        .collect()
}
