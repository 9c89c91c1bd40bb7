//! Copies of the whole array: `memcpy(out, f, sizeof(f))`. The copy is another name of the array, which is followed, too.

use super::functions::parameter as argument;
use super::pairs::Pairs;
use crate::token::Token;

/// Where a copy of the array is.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Destination {
    /// The variable whose name is here.
    Variable(usize),
    /// A parameter of the function: its name is here, its function is called by the name at the second place, and it has this
    /// index.
    Parameter { at: usize, function: usize, nth: usize },
}

/// What gets the whole of an array that is an argument here, if a function that copies memory copies it to the beginning of
/// a variable.
pub(super) fn copy_of(pairs: &Pairs<'_, '_>, function: &str, at: usize) -> Option<Destination> {
    if !["memcpy", "memmove"].iter().any(|end| function.ends_with(end)) {
        return None;
    }
    let open = pairs.enclosing(at).filter(|open| pairs.is(*open, '('))?;
    let close = pairs.partner(open)?;
    let first = pairs.skip(open + 1, MAX_ARGUMENT, |token| token.is(','));
    let second = pairs.skip(first + 1, MAX_ARGUMENT, |token| token.is(','));
    let name = pairs.get(at)?;
    let is_source = matches!(pairs.slice(first + 1, second), [only] if only.text == name.text);
    let size = pairs.slice(second + 1, close);
    if !is_source || !is_size_of(size, name) {
        return None;
    }
    let to = destination(pairs, open + 1, first)?;
    Some(parameter(pairs, to).unwrap_or(Destination::Variable(to)))
}

/// How many tokens an argument may have.
const MAX_ARGUMENT: usize = 64;

/// `sizeof(f)`, `sizeof f`
fn is_size_of(size: &[Token<'_>], name: &Token<'_>) -> bool {
    match size {
        [word, one] => word.text == "sizeof" && one.text == name.text,
        [word, open, one, close] => {
            word.text == "sizeof" && open.is('(') && one.text == name.text && close.is(')')
        }
        _ => false,
    }
}

/// The place of the name of a variable to which is copied: `out`, `&out[0]`, `(void *)out`.
fn destination(pairs: &Pairs<'_, '_>, from: usize, to: usize) -> Option<usize> {
    match pairs.slice(from, to) {
        [name] if name.is_name() => Some(from),
        [and, name, open, zero, close]
            if and.is('&')
                && name.is_name()
                && open.is('[')
                && zero.text == "0"
                && close.is(']') =>
        {
            Some(from + 1)
        }
        [open, kind @ .., close, name]
            if open.is('(')
                && close.is(')')
                && name.is_name()
                && kind.iter().all(|token| token.is_name() || token.is('*')) =>
        {
            Some(to - 1)
        }
        _ => None,
    }
}

/// The parameter with the name at a place, of the function around it.
fn parameter(pairs: &Pairs<'_, '_>, at: usize) -> Option<Destination> {
    let name = pairs.get(at)?.text;
    let block = pairs.blocks(at).last()?;
    let close = block.checked_sub(1).filter(|close| pairs.is(*close, ')'))?;
    let open = pairs.partner(close)?;
    let function = open.checked_sub(1).filter(|at| pairs.get(*at).is_some_and(Token::is_name))?;
    let is_named = |token: &&Token<'_>| token.is_name() && token.text == name;
    let here = open + 1 + pairs.slice(open + 1, close).iter().position(|token| is_named(&token))?;
    Some(Destination::Parameter { at, function, nth: pairs.commas(here) })
}

/// The place of the name of a variable that a call gives as an argument.
pub(super) fn argument_name(pairs: &Pairs<'_, '_>, call: usize, nth: usize) -> Option<usize> {
    let close = pairs.partner(call + 1).filter(|_| pairs.is(call + 1, '('))?;
    let (from, to) = argument(pairs, (call + 2, close), nth)?;
    destination(pairs, from, to)
}
