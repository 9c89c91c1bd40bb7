//! How many elements an array has, and which part of it is given to the kernel: `struct sock_fprog prog = { 1, f + 3 }` is
//! another program than `f`.

use std::collections::BTreeSet;

use super::changed::{is_assignment, programs};
use super::pairs::Pairs;
use crate::diagnostic::{Diagnostic, Position, error};
use crate::token::{Token, TokenKind};

/// How many tokens a length may have.
const MAX_LENGTH: usize = 60;

/// The name of an array in its declaration.
pub(super) fn array_name<'a>(declaration: &[Token<'a>]) -> Option<&'a str> {
    let open = declaration.iter().position(|token| token.is('['))?;
    let name = declaration.get(open.checked_sub(1)?).filter(|name| name.is_name())?;
    Some(name.text)
}

/// An error where a text in C installs only a part of its array, which has `elements` elements. `value` is that of an
/// expression, if it is known.
pub(super) fn other_part(
    tokens: &[Token<'_>],
    name: &str,
    elements: usize,
    value: &dyn Fn(&[Token<'_>]) -> Option<i128>,
) -> Option<Diagnostic> {
    let is_other = |length: &[Token<'_>]| match value(length) {
        Some(number) => usize::try_from(number) != Ok(elements),
        None => is_computed(length),
    };
    part_with(tokens, name, elements, &is_other)
}

/// The same for the variable that has a copy of the array, which may be longer.
pub(super) fn other_part_of_copy(
    tokens: &[Token<'_>],
    name: &str,
    elements: usize,
    value: &dyn Fn(&[Token<'_>]) -> Option<i128>,
) -> Option<Diagnostic> {
    let is_other = |length: &[Token<'_>]| match value(length) {
        Some(number) => usize::try_from(number) != Ok(elements),
        None => is_computed(length) || length.iter().any(|token| token.text == name),
    };
    part_with(tokens, name, elements, &is_other)
}

fn part_with(
    tokens: &[Token<'_>],
    name: &str,
    elements: usize,
    is_other: &dyn Fn(&[Token<'_>]) -> bool,
) -> Option<Diagnostic> {
    let programs = bases(tokens);
    let is_wrong = |at: usize| {
        let before = tokens.get(..at).unwrap_or_default();
        let after = tokens.get(at + 1..).unwrap_or_default();
        match tokens.get(at) {
            Some(token) if token.text == name && token.is_name() => {
                has_offset(before, after) || length_before(before).is_some_and(is_other)
            }
            Some(token) if matches!(token.text, "len" | "bf_len") => {
                is_of_program(&programs, before, name, after)
                    && (is_stepped(before, after) || length_after(after).is_some_and(is_other))
            }
            _ => false,
        }
    };
    let found = (0..tokens.len()).find(|at| is_wrong(*at)).and_then(|at| tokens.get(at))?;
    let message =
        format!("only a part of this array, which has {elements} instructions, is used here");
    let help = "give the array alone, without the elements that are not used";
    Some(error(found.position, message).help(help))
}

/// The words that may be variables which are programs: those declared so, and those with the members of one.
fn bases<'a>(tokens: &[Token<'a>]) -> BTreeSet<&'a str> {
    let mut found = programs(tokens);
    found.extend(tokens.windows(4).filter_map(|words| match words {
        [base, dot, member, _] if dot.is('.') && is_array_member(member) => Some(base.text),
        [base, dash, end, member] if dash.is('-') && end.is('>') && is_array_member(member) => {
            Some(base.text)
        }
        _ => None,
    }));
    found
}

fn is_array_member(token: &Token<'_>) -> bool {
    matches!(token.text, "filter" | "bf_insns")
}

/// Whether a length whose value is not known is computed from another one: the usual quotient of sizes, or a variable, less
/// something.
fn is_computed(length: &[Token<'_>]) -> bool {
    let is_arrow = |at: usize| length.get(at + 1).is_some_and(|next| next.is('>'));
    length
        .iter()
        .enumerate()
        .any(|(at, token)| (token.is('-') && !is_arrow(at)) || token.is_any("+%<?&|^~!"))
}

/// Whether a length is changed, not given: `p.len--`, `--p.len`, `p.len -= 1`.
fn is_stepped(before: &[Token<'_>], after: &[Token<'_>]) -> bool {
    let is_set = after.first().is_some_and(|equals| equals.is('='));
    let near = before.get(before.len().saturating_sub(MAX_LENGTH)..).unwrap_or_default();
    let ends = |token: &Token<'_>| token.is_any(";{},=");
    let start = near.iter().rposition(ends).map_or(0, |end| end + 1);
    let statement = near.get(start..).unwrap_or_default();
    let is_step = |signs: &[Token<'_>]| {
        signs.iter().all(|sign| sign.is('+')) || signs.iter().all(|sign| sign.is('-'))
    };
    (is_assignment(after) && !is_set) || statement.windows(2).any(is_step)
}

/// Whether a pointer into an array is computed: `f + 3`, `&f[3]`.
fn has_offset(before: &[Token<'_>], after: &[Token<'_>]) -> bool {
    match (before, after) {
        (_, [sign, next, ..]) if sign.is('-') && next.is('>') => false,
        (_, [sign, ..]) if sign.is('+') || sign.is('-') => true,
        ([.., one, and], [open, index, close, after, ..])
            if and.is('&') && !one.is('&') && !one.is_name() =>
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
    let has_more = length.iter().any(|token| token.is(',') || token.is(';'));
    (comma.is(',') && !is_named && !has_more).then_some(length)
}

/// The expression after `len`: `= 3,`.
fn length_after<'t, 'a>(after: &'t [Token<'a>]) -> Option<&'t [Token<'a>]> {
    let (equals, rest) = after.split_first()?;
    let ends = |token: &Token<'_>| token.is_any(",;}");
    let end = rest.iter().take(MAX_LENGTH).position(ends)?;
    rest.get(..end).filter(|_| equals.is('='))
}

/// Whether `len` is a field of a program: beside the array in an initializer, or of a variable that may be one.
fn is_of_program(
    programs: &BTreeSet<&str>,
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
    match base.kind {
        TokenKind::Word => programs.contains(base.text),
        _ => {
            is_beside(&mut after.iter())
                || is_beside(&mut before.iter().rev().take_while(|token| !token.is('{')))
        }
    }
}

/// The size of an array whose elements begin at an open brace: `f[3] = {`, `(struct sock_filter[3]){`, `[3]unix.SockFilter{`;
/// `None` if the elements decide it.
pub(super) fn size_before<'t, 'a>(
    pairs: &Pairs<'t, 'a>,
    brace: usize,
) -> Option<(&'t [Token<'a>], Position)> {
    let is_path = |token: &Token<'_>| token.is_name() || token.is('.');
    let mut end = brace;
    if pairs.before(end, 1).is_some_and(is_path) {
        let words = pairs.slice(0, brace).iter().rev().take_while(|token| is_path(token));
        end -= words.count();
    } else if pairs.before(end, 1)?.is_any("=)") {
        let is_initializer = pairs.is_before(end, 1, '=');
        end -= 1;
        // `__attribute__((…))`
        while let Some(open) = end.checked_sub(1).and_then(|close| pairs.partner(close)) {
            let name = pairs.before(open, 1).map_or("", |name| name.text);
            if !is_initializer || !pairs.is(open, '(') || !name.starts_with("__attribute") {
                break;
            }
            end = open - 1;
        }
    }
    let close = end.checked_sub(1).filter(|close| pairs.is(*close, ']'))?;
    let size = pairs.slice(pairs.partner(close)? + 1, close);
    let position = size.first().or(pairs.get(close))?.position;
    (!size.iter().all(|token| token.is('.'))).then_some((size, position))
}
