//! What a text declares besides arrays: enumerators and constants, whose values are known, other names, which hide those of
//! headers, and the structures whose layout readers of instructions know.

use super::cursor::Cursor;
use super::field::{Constants, Context, Fields};
use super::integer::{Type, Value};
use super::literal::Literals;
use super::predefined::{Defined, defined};
use super::types::Types;
use crate::diagnostic::Position;
use crate::lexer::{Token, TokenKind};
use crate::symbols::Names;

/// How many tokens a declaration may have before its name.
const MAX_TYPE: usize = 6;
/// How many tokens a list of enumerators may have.
const MAX_LIST: usize = 4000;

/// What a text in C declares. A structure with another layout than the kernel's is entered as `struct NAME`.
pub(super) fn declared<'a>(
    tokens: &[Token<'a>],
    names: &Names,
    types: &Types<'a>,
    literals: Literals,
) -> Constants<'a> {
    let mut constants = Constants::new();
    for (at, token) in tokens.iter().enumerate().filter(|(_, token)| token.kind == TokenKind::Word)
    {
        let rest = tokens.get(at..).unwrap_or_default();
        let evaluate = |constants: &Constants<'a>, expression: &[Token<'a>]| {
            let context = Context { names, types, literals, constants };
            let mut cursor = Cursor::new(expression, Position { line: 1, column: 1 });
            let value = Fields::outside(context).exact(&mut cursor).ok()?;
            cursor.peek().is_none().then_some(value)
        };
        match token.text {
            "enum" => enumerators(rest, &mut constants, &evaluate),
            "struct" => {
                if let Some(name) = other_layout(rest, types) {
                    constants.insert(name, None);
                }
            }
            name => {
                let before = tokens.get(at.saturating_sub(MAX_TYPE)..at).unwrap_or_default();
                let Some((kind, is_const)) = type_before(before, types) else { continue };
                let end = |mark| rest.iter().take(200).position(|token| token.is(mark));
                let value = match rest.get(1) {
                    Some(next) if next.is('=') && is_const => end(';')
                        .and_then(|end| rest.get(2..end))
                        .and_then(|expression| evaluate(&constants, expression))
                        .map(|value| value.converted(kind)),
                    Some(next) if [',', ';', ')', '[', '='].iter().any(|mark| next.is(*mark)) => {
                        None
                    }
                    _ => continue,
                };
                // Where headers define it as a macro, a variable cannot have this name.
                let is_macro = || matches!(defined(name, names, literals.model), Defined::As(..));
                if value.is_some() || !is_macro() {
                    declare(&mut constants, name, value);
                }
            }
        }
    }
    constants
}

/// Enters a name; one that is declared twice with different values has none.
fn declare<'a>(constants: &mut Constants<'a>, name: &'a str, value: Option<Value>) {
    let number = |value: &Option<Value>| value.map(|value| (value.number, value.kind));
    let known = constants.entry(name).or_insert(value);
    if number(known) != number(&value) {
        *known = None;
    }
}

/// Reads `enum { A, B = 5 }`.
fn enumerators<'a>(
    rest: &[Token<'a>],
    constants: &mut Constants<'a>,
    evaluate: &dyn Fn(&Constants<'a>, &[Token<'a>]) -> Option<Value>,
) {
    let Some(open) = rest.iter().take(3).position(|token| token.is('{')) else { return };
    let inside = rest.get(open + 1..).unwrap_or_default();
    let close = inside.iter().take(MAX_LIST).position(|token| token.is('}') || token.is(';'));
    let inside = close.and_then(|close| inside.get(..close)).unwrap_or_default();
    let mut next = Some(0);
    let mut depth = 0usize;
    let items = inside.split(|token| {
        depth += usize::from(token.is('('));
        depth -= usize::from(token.is(')') && depth > 0);
        depth == 0 && token.is(',')
    });
    for item in items {
        let Some((name, value)) = item.split_first() else { continue };
        if let Some((equals, expression)) = value.split_first() {
            let value = evaluate(constants, expression).filter(|_| equals.is('='));
            next = value.map(|value| value.number);
        }
        let value = next.filter(|number| Type::INT.holds(*number));
        declare(constants, name.text, value.map(|number| Value::of(number, Type::INT)));
        next = value.map(|number| number + 1);
    }
}

/// The type of integers that these tokens end with, and whether it is constant.
fn type_before(before: &[Token<'_>], types: &Types<'_>) -> Option<(Type, bool)> {
    let is_word = |token: &&Token<'_>| token.kind == TokenKind::Word && types.is_word(token.text);
    let words = before.iter().rev().take_while(is_word).count();
    let words = before.get(before.len() - words..).filter(|words| !words.is_empty())?;
    let (kind, length) = types.named(words)?;
    let is_const = words.iter().any(|word| word.text == "const");
    (length == words.len()).then_some((kind, is_const))
}

/// The members of a structure: name, bytes, and elements.
type Members = &'static [(&'static str, i128, &'static str)];

/// The structures of the kernel.
const STRUCTURES: &[(&str, Members)] = &[
    (
        "struct seccomp_data",
        &[("nr", 4, ""), ("arch", 4, ""), ("instruction_pointer", 8, ""), ("args", 8, "6")],
    ),
    ("struct sock_filter", &[("code", 2, ""), ("jt", 1, ""), ("jf", 1, ""), ("k", 4, "")]),
];

/// The structure of the kernel that a text defines in another way.
fn other_layout(rest: &[Token<'_>], types: &Types<'_>) -> Option<&'static str> {
    let [_, name, open, inside @ ..] = rest else { return None };
    let known = |full: &str| full.strip_prefix("struct ") == Some(name.text);
    let (full, members) = STRUCTURES.iter().find(|(full, _)| open.is('{') && known(full))?;
    // Much longer than the kernel's, it is another one.
    let Some(close) = inside.iter().take(60).position(|token| token.is('}')) else {
        return Some(full);
    };
    let mut lines =
        inside.get(..close)?.split(|token| token.is(';')).filter(|line| !line.is_empty());
    let is_same = members.iter().all(|(member, size, elements)| {
        let line = lines.next().unwrap_or_default();
        let named = types.named(line);
        let Some((kind, words)) = named else { return false };
        let text: Vec<&str> = line.iter().skip(words).map(|token| token.text).collect();
        let expected: &[&str] =
            if elements.is_empty() { &[member] } else { &[member, "[", elements, "]"] };
        kind.size() == *size && text == expected
    });
    (!is_same || lines.next().is_some()).then_some(full)
}

/// Whether a text declares a name, in any language, so that a well-known macro of this name is not meant.
pub(super) fn declares(tokens: &[Token<'_>], name: &str, types: &Types<'_>) -> bool {
    tokens.iter().enumerate().filter(|(_, token)| token.text == name).any(|(at, _)| {
        let before = at.checked_sub(1).and_then(|at| tokens.get(at));
        let after = tokens.get(at + 1);
        let follows =
            |marks: &[char]| after.is_some_and(|next| marks.iter().any(|mark| next.is(*mark)));
        before.is_some_and(|before| {
            let is_keyword =
                matches!(before.text, "let" | "mut" | "const" | "static" | "fn" | "func");
            let is_type = before.kind == TokenKind::Word && types.is_word(before.text);
            is_keyword || (is_type && follows(&[',', ')', '=', ';', '[']))
        }) || (follows(&[':'])
            && tokens.get(at + 2).is_some_and(|next| next.is('=') || types.is_word(next.text)))
    })
}
