//! Where a name is declared, and the expressions with members that it belongs to.

use super::changed::is_assignment;
use super::language::is_statement;
use super::pairs::{Pairs, is_size};
use crate::token::Token;

/// How many tokens a declaration may have before its name, or an expression with members.
pub(super) const NEAR: usize = 64;

/// The first token of `a->b.member`.
pub(super) fn base(pairs: &Pairs<'_, '_>, at: usize) -> Option<usize> {
    let mut start = at;
    for _ in 0..NEAR {
        if !pairs.is_member(start) {
            return Some(start);
        }
        let arrow = pairs.is(start - 1, '>');
        let Some(mut before) = start.checked_sub(2 + usize::from(arrow)) else {
            return Some(start);
        };
        // `a[1].member`, `f(x)->member`
        while let Some(open) = pairs.partner(before).filter(|open| *open < before) {
            let word = pairs.before(open, 1);
            let is_call = word.is_some_and(|word| word.is_name() && !is_statement(word.text));
            if !is_call && !pairs.is(open, '[') {
                return Some(open);
            }
            before = open.saturating_sub(1);
        }
        if pairs.get(before).is_none_or(|base| !base.is_name()) {
            // A designator in an initializer.
            return Some(start - 1);
        }
        start = before;
    }
    None
}

/// Whether a declaration or a parameter has this name, or a function: words before it that begin a declaration, and
/// after it what may follow a declarator.
pub(super) fn is_declared_here(pairs: &Pairs<'_, '_>, at: usize) -> bool {
    // `else`, `__extension__` are before declarations, too.
    let ends = |token: &&Token<'_>| {
        (!token.is_name() && !token.is('*'))
            || is_statement(token.text)
            || is_size(token.text)
            || matches!(token.text, "__real__" | "__imag__" | "asm" | "__asm__")
    };
    let before = || pairs.slice(at.saturating_sub(NEAR), at).iter().rev();
    let starts = before()
        .find(ends)
        .is_none_or(|first| first.is_any(";{}(),") || first.text == "__extension__");
    let mut words = before().take_while(|token| !ends(token)).filter(|token| token.is_name());
    let mut end = at + 1;
    if !starts || words.all(|word| word.text == "const") {
        return pairs.is(end, '(') && !pairs.is_before(at, 1, '*');
    }
    while let Some(close) = pairs.partner(end).filter(|close| *close > end) {
        if !pairs.is(end, '[') {
            break;
        }
        end = close + 1;
    }
    let is_assigned = pairs.is(end, '=') && !pairs.is(end + 1, '=');
    let next = pairs.get(end);
    is_assigned || next.is_some_and(|next| next.is_any(";,):(") || next.text.starts_with('_'))
}

/// Whether an assignment to a variable that contains the array, or to a member of it, changes the array. `path` has the members
/// around the array, from the outside in, if all are named. `None` if nothing is assigned there.
pub(super) fn changes_container(
    pairs: &Pairs<'_, '_>,
    path: Option<&[&str]>,
    at: usize,
) -> Option<bool> {
    let mut end = at + 1;
    let mut depth = 0;
    let mut is_inside = true;
    loop {
        let dots = match pairs.slice(end, end + 2) {
            [dot, ..] if dot.is('.') => 1,
            [dash, mark] if dash.is('-') && mark.is('>') => 2,
            _ => break,
        };
        let member = pairs.get(end + dots)?;
        is_inside &= path.is_none_or(|path| path.get(depth).is_none_or(|one| *one == member.text));
        depth += 1;
        end += dots + 1;
    }
    is_assignment(pairs.slice(end, end + 3)).then_some(is_inside)
}
