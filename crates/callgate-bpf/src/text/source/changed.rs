//! Assignments to fields of instructions, as in the functions that set variables: `insns[5].k = fd`.
//!
//! An array that the program changes is not the filter. What is changed is found by name: the array that is read, what is
//! declared with a type of instructions, and what the array is copied to.

use std::collections::BTreeSet;

use super::declaration::{declaration_before, declarator_after, is_type};
use crate::diagnostic::Diagnostic;
use crate::lexer::{Token, TokenKind};

/// An error at the first assignment to a field of an instruction. `declaration` is what is before the array that is read.
pub(super) fn changed_field(text: &[Token<'_>], declaration: &[Token<'_>]) -> Option<Diagnostic> {
    let assignments = assignments(text);
    if assignments.is_empty() {
        return None;
    }
    let names = names(text, declaration);
    let is_of_array = |array: Option<&str>| array.is_none_or(|name| names.contains(name));
    let (field, _) = assignments.into_iter().find(|(_, array)| is_of_array(*array))?;
    let message =
        "an instruction is changed when the program runs, so the array alone is not the filter";
    Some(
        Diagnostic::error(Some(field.position), message)
            .help("read the policy of a filter with variables, or the running process (pid:N)"),
    )
}

/// The fields of elements to which a value is assigned, with the name of the array unless that is an expression.
fn assignments<'t, 'a>(text: &'t [Token<'a>]) -> Vec<(&'t Token<'a>, Option<&'a str>)> {
    let is_field = |token: &Token<'_>| {
        matches!(token.text, "code" | "jt" | "jf" | "k" | "Code" | "Jt" | "Jf" | "K")
    };
    let mut found = Vec::new();
    // The names before the brackets that are open.
    let mut open = Vec::new();
    for (at, token) in text.iter().enumerate() {
        if token.is('[') {
            let before = at.checked_sub(1).and_then(|before| text.get(before));
            open.push(before.filter(|before| before.kind == TokenKind::Word).map(|name| name.text));
        } else if token.is(']') {
            let array = open.pop().flatten();
            match text.get(at + 1..) {
                Some([dot, field, equals, value, ..])
                    if dot.is('.') && is_field(field) && equals.is('=') && !value.is('=') =>
                {
                    found.push((field, array));
                }
                _ => {}
            }
        }
    }
    found
}

/// The names of what may be an array of instructions. Other words beside them do no harm.
fn names<'a>(text: &[Token<'a>], declaration: &[Token<'a>]) -> BTreeSet<&'a str> {
    let words = |tokens: &[Token<'a>]| -> Vec<&'a str> {
        let words = tokens.iter().filter(|token| token.kind == TokenKind::Word);
        words.map(|token| token.text).collect()
    };
    let mut names = BTreeSet::from_iter(words(declaration));
    for (at, _) in text.iter().enumerate().filter(|(_, token)| is_type(token)) {
        // Other parameters of the same function are not of this type.
        let before = declaration_before(text, at).rsplit(|token| token.is('(') || token.is(','));
        names.extend(before.take(1).flat_map(words));
        names.extend(words(declarator_after(text, at + 1)));
    }
    for (at, _) in text.iter().enumerate() {
        let copied = copy(text.get(at..).unwrap_or_default());
        if let Some((to, _)) = copied.filter(|(_, from)| names.contains(from)) {
            names.insert(to);
        }
    }
    names
}

/// What a copy at the beginning of these tokens writes and reads: `to = from`, `to := from`, `memcpy(to, from, …)`.
fn copy<'a>(tokens: &[Token<'a>]) -> Option<(&'a str, &'a str)> {
    let word = |token: &Token<'a>| (token.kind == TokenKind::Word).then_some(token.text);
    let (to, rest) = match tokens {
        [to, equals, rest @ ..] if equals.is('=') => (to, rest),
        [to, colon, equals, rest @ ..] if colon.is(':') && equals.is('=') => (to, rest),
        [function, open, to, comma, rest @ ..]
            if open.is('(')
                && comma.is(',')
                && ["cpy", "copy", "move"].iter().any(|end| function.text.ends_with(end)) =>
        {
            (to, rest)
        }
        _ => return None,
    };
    let from = rest.iter().find(|token| !token.is('&') && !token.is('*'))?;
    Some((word(to)?, word(from)?))
}
