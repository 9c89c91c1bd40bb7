//! Which part of an array is given to the kernel: `struct sock_fprog prog = { 1, f + 3 }` is another program than `f`.

use crate::diagnostic::Diagnostic;
use crate::lexer::{Token, TokenKind};

/// How many tokens a length may have.
const MAX_LENGTH: usize = 60;

/// An error where a text in C uses another part of its array than the whole one, which has so many elements. `value` is that of an
/// expression, if it is known.
pub(super) fn other_part(
    tokens: &[Token<'_>],
    declaration: &[Token<'_>],
    elements: usize,
    value: &dyn Fn(&[Token<'_>]) -> Option<i128>,
) -> Option<Diagnostic> {
    let open = declaration.iter().position(|token| token.is('['))?;
    let name = declaration.get(open.checked_sub(1)?).filter(|name| name.kind == TokenKind::Word)?;
    let is_other = |length: &[Token<'_>]| match value(length) {
        Some(number) => usize::try_from(number) != Ok(elements),
        // The usual quotient of sizes, less something.
        None => {
            length.iter().any(|token| token.text == "sizeof")
                && length.iter().any(|token| token.is('-'))
        }
    };
    let is_wrong = |at: usize| {
        let before = tokens.get(..at).unwrap_or_default();
        let after = tokens.get(at + 1..).unwrap_or_default();
        match tokens.get(at) {
            Some(token) if token.text == name.text && token.kind == TokenKind::Word => {
                has_offset(before, after) || length_before(before).is_some_and(is_other)
            }
            Some(token) if token.text == "len" => {
                is_of_program(tokens, before, name.text, after)
                    && length_after(after).is_some_and(is_other)
            }
            _ => false,
        }
    };
    let found = (0..tokens.len()).find(|at| is_wrong(*at)).and_then(|at| tokens.get(at))?;
    let message =
        format!("only a part of this array, which has {elements} instructions, is used here");
    Some(
        Diagnostic::error(Some(found.position), message)
            .help("give the array alone, without the elements that are not used"),
    )
}

/// Whether a pointer into an array is computed: `f + 3`, `&f[3]`.
fn has_offset(before: &[Token<'_>], after: &[Token<'_>]) -> bool {
    match (before, after) {
        (_, [sign, next, ..]) if sign.is('-') && next.is('>') => false,
        (_, [sign, ..]) if sign.is('+') || sign.is('-') => true,
        ([.., one, and], [open, index, close, after, ..])
            if and.is('&') && !one.is('&') && one.kind != TokenKind::Word =>
        {
            open.is('[') && !(index.text == "0" && close.is(']')) && !after.is('.')
        }
        _ => false,
    }
}

/// The expression before an array in `{ 3, f }`.
fn length_before<'t, 'a>(before: &'t [Token<'a>]) -> Option<&'t [Token<'a>]> {
    let (comma, rest) = before.split_last()?;
    let from = rest.len().saturating_sub(MAX_LENGTH);
    let open = rest.get(from..)?.iter().rposition(|token| token.is('{'))? + from;
    let length = rest.get(open + 1..)?;
    let is_named = length.first().is_some_and(|first| first.is('.'));
    let has_comma = length.iter().any(|token| token.is(','));
    (comma.is(',') && !is_named && !has_comma).then_some(length)
}

/// The expression after `len`: `= 3,`.
fn length_after<'t, 'a>(after: &'t [Token<'a>]) -> Option<&'t [Token<'a>]> {
    let (equals, rest) = after.split_first()?;
    let ends = |token: &Token<'_>| [',', ';', '}'].iter().any(|mark| token.is(*mark));
    let end = rest.iter().take(MAX_LENGTH).position(ends)?;
    rest.get(..end).filter(|_| equals.is('='))
}

/// Whether `len` is a field of a program: beside the array in an initializer, or of a variable of the type.
fn is_of_program(
    tokens: &[Token<'_>],
    before: &[Token<'_>],
    array: &str,
    after: &[Token<'_>],
) -> bool {
    let base = match before {
        [.., base, dot] if dot.is('.') => base,
        [.., base, dash, end] if dash.is('-') && end.is('>') => base,
        _ => return false,
    };
    let is_beside = |tokens: &mut dyn Iterator<Item = &Token<'_>>| {
        tokens.take(MAX_LENGTH).take_while(|token| !token.is('}')).any(|token| token.text == array)
    };
    let is_declared = |pair: &[Token<'_>]| match pair {
        [kind, name, ..] if kind.text == "sock_fprog" && name.text == base.text => true,
        [kind, star, name] => kind.text == "sock_fprog" && star.is('*') && name.text == base.text,
        _ => false,
    };
    match base.kind {
        TokenKind::Word => tokens.windows(3).any(is_declared),
        _ => {
            is_beside(&mut after.iter())
                || is_beside(&mut before.iter().rev().take_while(|token| !token.is('{')))
        }
    }
}
