//! Expressions of C: operators and parentheses around terms.

use super::super::error::error;
use super::cursor::{Cursor, Result};
use crate::lexer::{Token, TokenKind};

/// How deep parentheses and operators may be nested.
const MAX_DEPTH: u32 = 50;

/// Reads a term: a number or a name.
pub(super) trait Terms<'a> {
    fn term(&mut self, cursor: &mut Cursor<'_, 'a>) -> Result<u32>;
}

/// A binary operator: its characters, its level, which is higher if it binds more tightly, and what it computes.
type Operator = (&'static [char], u32, fn(u32, u32) -> u32);

const OPERATORS: &[Operator] = &[
    (&['|', '|'], 1, |a, b| u32::from(a != 0 || b != 0)),
    (&['&', '&'], 2, |a, b| u32::from(a != 0 && b != 0)),
    (&['=', '='], 6, |a, b| u32::from(a == b)),
    (&['!', '='], 6, |a, b| u32::from(a != b)),
    (&['<', '<'], 8, |a, b| a.checked_shl(b).unwrap_or(0)),
    (&['>', '>'], 8, |a, b| a.checked_shr(b).unwrap_or(0)),
    (&['<', '='], 7, |a, b| u32::from(a <= b)),
    (&['>', '='], 7, |a, b| u32::from(a >= b)),
    (&['<'], 7, |a, b| u32::from(a < b)),
    (&['>'], 7, |a, b| u32::from(a > b)),
    (&['|'], 3, |a, b| a | b),
    (&['^'], 4, |a, b| a ^ b),
    (&['&'], 5, |a, b| a & b),
    (&['+'], 9, u32::wrapping_add),
    (&['-'], 9, u32::wrapping_sub),
    (&['*'], 10, u32::wrapping_mul),
];

/// Reads an expression. Its arithmetic has 32 bits.
pub(super) fn expression<'a>(
    cursor: &mut Cursor<'_, 'a>,
    terms: &mut impl Terms<'a>,
) -> Result<u32> {
    binary(cursor, terms, 0, 0)
}

/// The operand on the right of an operator of this level, and everything that binds more tightly. The recursion ends at
/// [`MAX_DEPTH`].
fn binary<'a>(
    cursor: &mut Cursor<'_, 'a>,
    terms: &mut impl Terms<'a>,
    level: u32,
    depth: u32,
) -> Result<u32> {
    if depth > MAX_DEPTH {
        let message = format!("this expression is nested more than {MAX_DEPTH} times, the limit");
        return Err(error(cursor.position(), message));
    }
    let mut value = unary(cursor, terms, depth)?;
    loop {
        // A negative number after a value is a subtraction: `5 -1`.
        let minus = cursor.peek().is_some_and(|token| {
            matches!(token.kind, TokenKind::Number(_)) && token.text.starts_with('-')
        });
        if minus && level < 9 {
            value = value.wrapping_add(unary(cursor, terms, depth)?);
            continue;
        }
        let Some((marks, own, apply)) =
            OPERATORS.iter().find(|(marks, _, _)| cursor.starts(marks)).filter(|op| op.1 > level)
        else {
            return Ok(value);
        };
        cursor.skip(marks.len());
        value = apply(value, binary(cursor, terms, *own, depth + 1)?);
    }
}

fn unary<'a>(cursor: &mut Cursor<'_, 'a>, terms: &mut impl Terms<'a>, depth: u32) -> Result<u32> {
    if skip_cast(cursor) {
        return unary_after(cursor, terms, depth, |value| value);
    }
    if cursor.take('~') {
        return unary_after(cursor, terms, depth, |value| !value);
    }
    if cursor.take('!') {
        return unary_after(cursor, terms, depth, |value| u32::from(value == 0));
    }
    if cursor.take('-') {
        return unary_after(cursor, terms, depth, u32::wrapping_neg);
    }
    let value = if cursor.take('(') {
        let value = binary(cursor, terms, 0, depth + 1)?;
        cursor.expect(')')?;
        value
    } else {
        terms.term(cursor)?
    };
    // `as u32` of Rust.
    while cursor.take_word("as") {
        cursor.next();
    }
    Ok(value)
}

fn unary_after<'a>(
    cursor: &mut Cursor<'_, 'a>,
    terms: &mut impl Terms<'a>,
    depth: u32,
    apply: impl Fn(u32) -> u32,
) -> Result<u32> {
    if depth > MAX_DEPTH {
        return binary(cursor, terms, 0, depth);
    }
    Ok(apply(unary(cursor, terms, depth + 1)?))
}

/// The names of the types of integers.
const TYPES: &[&str] = &[
    "int", "unsigned", "signed", "long", "short", "char", "const", "__u8", "__u16", "__u32",
    "__u64", "__s32", "u8", "u16", "u32", "u64", "i32", "i64", "usize", "uint", "uint8", "uint16",
    "uint32", "uint64", "int32", "int64", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "int32_t",
    "int64_t", "size_t", "c_uint", "c_int",
];

/// Whether a token is a word of the name of a type.
pub(super) fn is_type(token: &Token<'_>) -> bool {
    token.kind == TokenKind::Word && TYPES.contains(&token.text)
}

/// Skips `(unsigned int)`, or the name of a type before a parenthesis: `uint32(…)`, `u32::from(…)`.
fn skip_cast(cursor: &mut Cursor<'_, '_>) -> bool {
    let rest = cursor.rest();
    if let [name, open, ..] = rest {
        if is_type(name) && open.is('(') {
            cursor.next();
            return true;
        }
    }
    if let [name, first, second, from, open, ..] = rest {
        let is_path = first.is(':') && second.is(':') && from.is_word("from");
        if is_type(name) && is_path && open.is('(') {
            cursor.skip(4);
            return true;
        }
    }
    let Some((open, inside)) = rest.split_first() else { return false };
    let words = inside.iter().take(4).take_while(|token| is_type(token)).count();
    let is_cast = open.is('(') && words > 0 && inside.get(words).is_some_and(|close| close.is(')'));
    if is_cast {
        cursor.skip(words + 2);
    }
    is_cast
}
