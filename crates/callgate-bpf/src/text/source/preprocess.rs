//! The preprocessor of C: conditionals, definitions and the expansion of macros.

use std::collections::HashMap;

use super::condition::{holds, is_defined};
use super::expand::{Expanded, MAX_PARAMETERS, Macro, Macros, expand, is_blank};
use crate::asm::Errors;
use crate::diagnostic::{Diagnostic, Position};
use crate::lexer::{Token, TokenKind};
use crate::symbols::Names;

/// An open conditional.
struct Conditional {
    /// Whether the text around it is read.
    is_outside_read: bool,
    /// Whether the part from the last directive on is read.
    is_read: bool,
    /// Whether a part was read already.
    was_read: bool,
}

/// A text that is being preprocessed.
struct Preprocessor<'e, 't, 'a> {
    names: &'e Names,
    macros: Macros<'t, 'a>,
    conditionals: Vec<Conditional>,
    expanded: Expanded<'a>,
    errors: &'e mut Errors,
}

/// The tokens of a text without directives and line ends, after the definitions of `known`.
pub(super) fn preprocess<'t, 'a>(
    known: &'t [Token<'a>],
    text: &'t [Token<'a>],
    names: &Names,
    errors: &mut Errors,
) -> Vec<Token<'a>> {
    let macros = HashMap::new();
    let expanded = Expanded::default();
    let mut preprocessor =
        Preprocessor { names, macros, conditionals: Vec::new(), expanded, errors };
    preprocessor.read(known);
    preprocessor.read(text);
    preprocessor.expanded.tokens
}

impl<'t, 'a> Preprocessor<'_, 't, 'a> {
    fn read(&mut self, text: &'t [Token<'a>]) {
        let mut rest = text;
        while !rest.is_empty() {
            let code = code_before_directive(rest);
            let (code, directive) = rest.split_at_checked(code).unwrap_or((rest, &[]));
            if self.is_read() {
                if let Err(error) = expand(code, &self.macros, &mut self.expanded) {
                    self.errors.push(error);
                    return;
                }
            }
            let length = line_length(directive);
            let (directive, after) = directive.split_at_checked(length).unwrap_or((directive, &[]));
            self.directive(directive);
            rest = after;
        }
    }

    fn is_read(&self) -> bool {
        self.conditionals.last().is_none_or(|open| open.is_read)
    }

    /// Reads a line from `#` on.
    fn directive(&mut self, line: &'t [Token<'a>]) {
        let Some((hash, line)) = line.split_first() else { return };
        let Some((name, arguments)) = line.split_first() else { return };
        let is_read = self.is_read();
        match name.text {
            "define" if is_read => self.define(arguments),
            "undef" if is_read => {
                let name = arguments.first().map(|name| name.text);
                name.and_then(|name| self.macros.remove(name));
            }
            "ifdef" | "ifndef" => {
                let defined = |name: &Token<'_>| is_defined(name.text, &self.macros, self.names);
                let holds = arguments.first().is_some_and(defined) == (name.text == "ifdef");
                self.open(holds);
            }
            "if" => {
                let holds = is_read && self.holds(arguments, hash.position);
                self.open(holds);
            }
            "elif" => {
                let may_hold = self
                    .conditionals
                    .last()
                    .is_some_and(|open| open.is_outside_read && !open.was_read);
                let holds = may_hold && self.holds(arguments, hash.position);
                self.next_part(holds);
            }
            "else" => self.next_part(true),
            "endif" => {
                self.conditionals.pop();
            }
            _ => {}
        }
    }

    fn holds(&mut self, condition: &'t [Token<'a>], start: Position) -> bool {
        let end = condition.last().map_or(start, |last| last.position);
        let length = condition.iter().rposition(|token| !is_blank(token)).map_or(0, |at| at + 1);
        let condition = condition.get(..length).unwrap_or_default();
        match holds(condition, end, &self.macros, self.names) {
            Ok(holds) => holds,
            Err(error) => {
                self.errors.push(
                    error.help("delete the conditional, and keep the part of it that applies"),
                );
                false
            }
        }
    }

    fn open(&mut self, holds: bool) {
        let is_outside_read = self.is_read();
        let is_read = is_outside_read && holds;
        self.conditionals.push(Conditional { is_outside_read, is_read, was_read: is_read });
    }

    fn next_part(&mut self, holds: bool) {
        if let Some(open) = self.conditionals.last_mut() {
            open.is_read = open.is_outside_read && !open.was_read && holds;
            open.was_read |= open.is_read;
        }
    }

    /// Reads the name, the parameters and the body of a macro.
    fn define(&mut self, line: &'t [Token<'a>]) {
        let Some((name, after)) = line.split_first() else { return };
        // The macros of the kernel's headers are read as instructions.
        if name.kind != TokenKind::Word || matches!(name.text, "BPF_STMT" | "BPF_JUMP") {
            return;
        }
        let end = name.position.column + name.text.chars().count() as u32;
        let has_parameters = after.first().is_some_and(|open| {
            let Position { line, column } = open.position;
            open.is('(') && line == name.position.line && column == end
        });
        let mut definition = Macro { parameters: None, is_variadic: false, body: after };
        if has_parameters {
            let close = after.iter().position(|token| token.is(')'));
            let Some((parameters, body)) =
                close.and_then(|close| after.split_at_checked(close + 1))
            else {
                self.errors.push(Diagnostic::error(
                    Some(name.position),
                    "the parameters of this macro have no `)`",
                ));
                return;
            };
            let words = parameters.iter().filter(|token| token.kind == TokenKind::Word);
            if words.clone().count() > MAX_PARAMETERS {
                let message =
                    format!("this macro has more than {MAX_PARAMETERS} parameters, the limit");
                self.errors.push(Diagnostic::error(Some(name.position), message));
                return;
            }
            definition = Macro {
                parameters: Some(words.map(|token| token.text).collect()),
                is_variadic: parameters.iter().any(|token| token.is('.')),
                body,
            };
        }
        self.macros.insert(name.text, definition);
    }
}

/// The number of tokens before the next directive.
fn code_before_directive(tokens: &[Token<'_>]) -> usize {
    let mut is_line_start = true;
    for (at, token) in tokens.iter().enumerate() {
        // `#[` and `#!` begin attributes of Rust.
        let is_directive = || {
            let next = tokens.get(at + 1);
            next.is_some_and(|next| next.kind == TokenKind::Word)
        };
        if is_line_start && token.is('#') && is_directive() {
            return at;
        }
        is_line_start = token.kind == TokenKind::LineEnd;
    }
    tokens.len()
}

/// The number of tokens up to the end of a line, which `\` continues.
fn line_length(tokens: &[Token<'_>]) -> usize {
    let mut continues = false;
    for (at, token) in tokens.iter().enumerate() {
        if token.kind == TokenKind::LineEnd && !continues {
            return at + 1;
        }
        continues = token.is('\\');
    }
    tokens.len()
}
