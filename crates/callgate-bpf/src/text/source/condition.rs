//! Conditions of the preprocessor: `#if`, `#elif`, `#ifdef`.

use super::expression::{Terms, expression};
use super::integer::{Type, Value};
use super::literal::Literals;
use super::predefined::{Defined, defined, is_sometimes_defined};
use super::types::Types;
use crate::advice::Advice;
use crate::cursor::{Cursor, Result};
use crate::diagnostic::{Diagnostic, Position, error};
use crate::lexer::Language;
use crate::symbols::Names;
use crate::token::{Token, TokenKind, quote};

/// What a condition is.
pub(super) enum Truth {
    Holds(bool),
    /// It depends on what is not known.
    Open(Diagnostic),
}

/// What conditions ask about names.
pub(super) struct Conditions<'c, 'n> {
    /// What the text says about a name: `None` if nothing.
    of_text: &'c dyn Fn(&str) -> Option<bool>,
    /// What the answers to earlier questions say about a name.
    assumed: &'c dyn Fn(&str) -> Option<bool>,
    /// Whether the header of a name is included.
    has_header: &'c dyn Fn(&str) -> bool,
    names: &'n Names,
    literals: Literals,
    /// What the condition depends on.
    open: Option<Diagnostic>,
}

impl<'c, 'n> Conditions<'c, 'n> {
    pub(super) fn new(
        of_text: &'c dyn Fn(&str) -> Option<bool>,
        assumed: &'c dyn Fn(&str) -> Option<bool>,
        has_header: &'c dyn Fn(&str) -> bool,
        names: &'n Names,
        literals: Literals,
    ) -> Self {
        let literals = Literals { in_condition: true, ..literals };
        Conditions { of_text, assumed, has_header, names, literals, open: None }
    }

    /// Whether an expression holds. Its macros are expanded; `end` is the position after it.
    pub(super) fn holds(mut self, tokens: &[Token<'_>], end: Position) -> Result<Truth> {
        let mut cursor = Cursor::new(tokens, end);
        let value = expression(&mut cursor, &mut self)?;
        if cursor.peek().is_some() {
            return cursor.fail("the end of the condition");
        }
        Ok(match (value.is_zero(), self.open) {
            (Some(is_zero), _) => Truth::Holds(!is_zero),
            (None, Some(open)) => Truth::Open(open),
            (None, None) => return cursor.fail("a value that does not depend on a type"),
        })
    }

    /// Whether a name is defined.
    pub(super) fn knows(mut self, name: Token<'_>) -> Truth {
        match (self.defined(name), self.open) {
            (None, Some(open)) => Truth::Open(open),
            (holds, _) => Truth::Holds(holds.unwrap_or(false)),
        }
    }

    fn defined(&mut self, name: Token<'_>) -> Option<bool> {
        if let Some(known) = (self.of_text)(name.text).or_else(|| (self.assumed)(name.text)) {
            return Some(known);
        }
        match self.known(name.text) {
            Defined::No => Some(false),
            Defined::As(..) if is_sometimes_defined(name.text, self.names) => {
                self.ask(name, "is defined by some headers only");
                None
            }
            Defined::As(..) | Defined::Somehow => Some(true),
            Defined::Open => {
                self.ask(name, "is not defined in this text");
                None
            }
            Defined::OfArch => {
                self.ask_arch(name);
                None
            }
        }
    }

    fn known(&self, name: &str) -> Defined {
        match defined(name, self.names, self.literals.model) {
            Defined::As(..) | Defined::Somehow if !(self.has_header)(name) => Defined::Open,
            known => known,
        }
    }

    fn ask(&mut self, name: Token<'_>, why: &str) {
        let message = format!("{} {why}, and decides which lines apply", quote(name.text));
        self.open.get_or_insert_with(|| {
            error(name.position, message).help(Advice::Define(name.text.to_owned()))
        });
    }

    fn ask_arch(&mut self, name: Token<'_>) {
        let message =
            format!("whether {} is defined depends on the architecture", quote(name.text));
        self.open.get_or_insert_with(|| error(name.position, message).help(Advice::ProgramArch));
    }

    /// The value of a name that is not a macro of the text.
    fn of_name<'a>(&mut self, name: Token<'a>, cursor: &mut Cursor<'_, 'a>) -> Result<Value> {
        let zero = Value::of(0, Type::LONG_LONG);
        if cursor.starts("(") {
            if !name.text.starts_with("__has_") {
                let message =
                    format!("{} is called here, but not defined in this text", quote(name.text));
                return Err(error(name.position, message));
            }
            let message = format!("{} depends on the compiler and its headers", quote(name.text));
            self.open.get_or_insert_with(|| error(name.position, message));
            cursor.expect("(")?;
            cursor.skip_to_close('(', ')')?;
            return Ok(Value::unknown());
        }
        // The name of a macro with parameters, or what `#undef` removed.
        if (self.of_text)(name.text).is_some() || (self.assumed)(name.text) == Some(false) {
            return Ok(zero);
        }
        match self.known(name.text) {
            Defined::No => Ok(zero),
            Defined::As(number, kind) if kind.is_signed() => Ok(Value::of(number, Type::LONG_LONG)),
            Defined::As(number, _) => Ok(Value::of(number, Type::UNSIGNED_LONG_LONG)),
            Defined::Somehow | Defined::Open => {
                self.ask(name, "has no value that is known here");
                Ok(Value::unknown())
            }
            Defined::OfArch => {
                self.ask_arch(name);
                Ok(Value::unknown())
            }
        }
    }
}

impl<'a> Terms<'a> for Conditions<'_, '_> {
    fn term(&mut self, cursor: &mut Cursor<'_, 'a>) -> Result<Value> {
        let Some(token) = cursor.peek() else { return cursor.fail("a condition") };
        match token.kind {
            TokenKind::Number(_) => {
                cursor.next();
                self.literals.value(token.text).map_err(|message| error(token.position, message))
            }
            TokenKind::Word if token.text == "defined" => {
                cursor.next();
                let in_parentheses = cursor.take("(");
                let Some(name) = cursor.peek().filter(|name| name.is_name()) else {
                    return cursor.fail("a name");
                };
                cursor.next();
                if in_parentheses {
                    cursor.expect(")")?;
                }
                Ok(match self.defined(name) {
                    Some(holds) => Value::of(i128::from(holds), Type::LONG_LONG),
                    None => Value::unknown(),
                })
            }
            TokenKind::Word => {
                cursor.next();
                self.of_name(token, cursor)
            }
            _ => cursor.fail("a number or a name"),
        }
    }

    fn types(&self) -> Option<&Types<'a>> {
        None
    }

    fn language(&self) -> Language {
        Language::C
    }
}
