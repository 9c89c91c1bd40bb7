//! Conditions of the preprocessor: `#if`, `#elif`.

use super::cursor::{Cursor, Result};
use super::expand::Macros;
use super::expression::{Terms, expression};
use crate::diagnostic::Position;
use crate::lexer::{Token, TokenKind};
use crate::symbols::Names;

/// Whether a condition holds.
pub(super) fn holds<'t, 'a>(
    tokens: &'t [Token<'a>],
    end: Position,
    macros: &Macros<'t, 'a>,
    names: &Names,
) -> Result<bool> {
    let mut cursor = Cursor::new(tokens, end);
    let value = expression(&mut cursor, &mut Values { macros, names })?;
    if cursor.peek().is_some() {
        return cursor.fail("the end of the condition");
    }
    Ok(value != 0)
}

/// Whether a name is defined.
pub(super) fn is_defined(name: &str, macros: &Macros<'_, '_>, names: &Names) -> bool {
    macros.contains_key(name) || names.is_defined(name)
}

struct Values<'m, 't, 'a> {
    macros: &'m Macros<'t, 'a>,
    names: &'m Names,
}

impl<'a> Terms<'a> for Values<'_, '_, 'a> {
    fn term(&mut self, cursor: &mut Cursor<'_, 'a>) -> Result<u32> {
        let Some(token) = cursor.peek() else { return cursor.fail("a condition") };
        match token.kind {
            TokenKind::Number(Ok(value)) => {
                cursor.next();
                Ok(value)
            }
            TokenKind::Word if token.text == "defined" => {
                cursor.next();
                let in_parentheses = cursor.take('(');
                let Some(name @ Token { kind: TokenKind::Word, .. }) = cursor.peek() else {
                    return cursor.fail("a name");
                };
                cursor.next();
                if in_parentheses {
                    cursor.expect(')')?;
                }
                Ok(u32::from(is_defined(name.text, self.macros, self.names)))
            }
            TokenKind::Word => {
                cursor.next();
                Ok(self.of_name(token.text))
            }
            _ => cursor.fail("a number or a name"),
        }
    }
}

impl Values<'_, '_, '_> {
    /// The value of a macro that is a number, or of a constant. Other names are 0, and what a compiler predefines is 1.
    fn of_name(&self, name: &str) -> u32 {
        let number = |known: &super::expand::Macro<'_, '_>| match known.body {
            [Token { kind: TokenKind::Number(Ok(value)), .. }] => Some(*value),
            _ => None,
        };
        match self.macros.get(name) {
            Some(known) => number(known).unwrap_or(0),
            None => match self.names.value(name, false) {
                Ok(Some(value)) => value,
                _ => u32::from(self.names.is_defined(name)),
            },
        }
    }
}
