//! The sizes of arrays.

use crate::diagnostic::Position;
use crate::lexer::Token;

/// How many tokens a size may have.
const MAX_TOKENS: usize = 60;

/// The size of an array whose elements begin at an open brace: `f[3] = {`, `(struct sock_filter[3]){`, `[3]unix.SockFilter{`;
/// `None` if the elements decide it.
pub(super) fn size_before<'t, 'a>(
    tokens: &'t [Token<'a>],
    brace: usize,
) -> Option<(&'t [Token<'a>], Position)> {
    let before = tokens.get(brace.saturating_sub(MAX_TOKENS)..brace)?;
    let (last, mut rest) = before.split_last()?;
    let is_path = |token: &Token<'_>| token.is_name() || token.is('.');
    if last.is('=') {
        rest = without_attributes(rest);
    } else if is_path(last) {
        let words = before.iter().rev().take_while(|token| is_path(token)).count();
        rest = before.get(..before.len() - words)?;
    } else if !last.is(')') {
        return None;
    }
    let (close, inside) = rest.split_last().filter(|(close, _)| close.is(']'))?;
    let mut depth = 1usize;
    let open = inside.iter().rposition(|token| {
        depth += usize::from(token.is(']'));
        depth -= usize::from(token.is('['));
        depth == 0
    })?;
    let size = inside.get(open + 1..)?;
    let is_dots = size.iter().all(|token| token.is('.'));
    (!is_dots).then_some((size, size.first().map_or(close.position, |first| first.position)))
}

/// The tokens without `__attribute__((…))` at their end.
fn without_attributes<'t, 'a>(tokens: &'t [Token<'a>]) -> &'t [Token<'a>] {
    if !tokens.last().is_some_and(|last| last.is(')')) {
        return tokens;
    }
    let mut depth = 0usize;
    let open = tokens.iter().rposition(|token| {
        depth += usize::from(token.is(')'));
        depth -= usize::from(token.is('('));
        depth == 0
    });
    match open.and_then(|open| Some((tokens.get(open.checked_sub(1)?)?, open - 1))) {
        Some((name, at)) if name.text.starts_with("__attribute") => {
            without_attributes(tokens.get(..at).unwrap_or_default())
        }
        _ => tokens,
    }
}
