//! Variables with one value: `int error = EPERM;` in a function, or `static` outside of functions, if nothing changes it.
//!
//! The name must mean this variable everywhere: it is declared once, is used only in its block, and its address is not taken.
//! In C++ and beside assembly, where that does not show every change, such variables have no value.

use std::collections::HashMap;

use super::changed::{changes, has_references};
use super::declared::type_before;
use super::field::{Constants, Context, Fields};
use super::integer::Type;
use super::literal::Literals;
use super::pairs::Pairs;
use super::types::Types;
use crate::symbols::Names;
use crate::token::Token;

/// How many tokens an initializer may have.
const MAX_INITIALIZER: usize = 200;

/// How many tokens a declaration may have before its name.
const MAX_TYPE: usize = 6;

/// A variable with an initializer, and how its name is used.
struct Variable<'t, 'a> {
    kind: Type,
    initializer: &'t [Token<'a>],
    /// The tokens of its block.
    scope: (usize, usize),
    /// How often it is declared or changed.
    changes: usize,
    /// Whether it may be changed elsewhere.
    is_reached: bool,
}

/// Enters the values of variables that are never changed.
pub(super) fn add_unchanged<'a>(
    pairs: &Pairs<'_, 'a>,
    (names, types, literals): (&Names, &Types<'a>, Literals),
    constants: &mut Constants<'a>,
) {
    let tokens = pairs.tokens();
    if has_references(tokens) {
        return;
    }
    let mut variables: HashMap<&'a str, Variable<'_, 'a>> = HashMap::new();
    for (at, token) in tokens.iter().enumerate() {
        let is_unknown = || matches!(constants.get(token.text), Some(None));
        let is_outer = || matches!(names.integer(token.text, false), Ok(Some(_)));
        if !token.is_name() || !pairs.is(at + 1, '=') || pairs.is(at + 2, '=') || !is_unknown() {
            continue;
        }
        // The name of a constant of the headers is not a variable.
        if is_outer() {
            continue;
        }
        if let Some(variable) = variable(pairs, at, types) {
            variables.entry(token.text).or_insert(variable);
        }
    }
    for (at, token) in tokens.iter().enumerate() {
        let Some(variable) = variables.get_mut(token.text).filter(|_| token.is_name()) else {
            continue;
        };
        let before = tokens.get(..at).unwrap_or_default();
        let after = tokens.get(at + 1..).unwrap_or_default();
        let is_offset =
            matches!(before, [.., kind, comma] if comma.is(',') && kind.text == "seccomp_data");
        if pairs.is_member(at) || is_offset {
            continue;
        }
        let (from, to) = variable.scope;
        variable.changes += changes(before, after, types);
        variable.is_reached |=
            at < from || at > to || matches!(before, [.., one, and] if and.is('&') && !one.is('&'));
    }
    let unchanged =
        variables.into_iter().filter(|(_, variable)| variable.changes == 1 && !variable.is_reached);
    let values: Vec<_> = unchanged
        .filter_map(|(name, variable)| {
            let context = Context { names, types, literals, constants: &*constants };
            let value = Fields::outside(context).whole(variable.initializer)?;
            Some((name, value.converted(variable.kind)))
        })
        .collect();
    for (name, value) in values {
        constants.insert(name, Some(value));
    }
}

/// The variable with an initializer whose name is here, if it is one of a block, or static.
fn variable<'t, 'a>(
    pairs: &Pairs<'t, 'a>,
    at: usize,
    types: &Types<'_>,
) -> Option<Variable<'t, 'a>> {
    let before = pairs.slice(at.saturating_sub(MAX_TYPE), at);
    let start = before.iter().rposition(|token| token.is_any(";{}")).map_or(0, |end| end + 1);
    let before = before.get(start..)?;
    let (kind, _) = type_before(before, types)?;
    let has = |word: &str| before.iter().any(|token| token.text == word);
    let scope = match pairs.enclosing(at) {
        Some(open) if pairs.is(open, '{') && pairs.is_block(open) => (open, pairs.partner(open)?),
        None if has("static") => (0, usize::MAX),
        _ => return None,
    };
    if has("volatile") || has("extern") {
        return None;
    }
    let end = pairs.skip(at + 2, MAX_INITIALIZER, |token| token.is(';'));
    let initializer = pairs.slice(at + 2, end);
    pairs.is(end, ';').then_some(Variable {
        kind,
        initializer,
        scope,
        changes: 0,
        is_reached: false,
    })
}

/// The type with which a text declares a variable or a parameter.
pub(super) fn type_of(tokens: &[Token<'_>], name: &str, types: &Types<'_>) -> Option<Type> {
    let is_declared = |at: usize| tokens.get(at + 1).is_some_and(|next| next.is_any(",)=;["));
    let places = tokens.iter().enumerate().filter(|(_, token)| token.text == name);
    places.filter(|(at, _)| is_declared(*at)).find_map(|(at, _)| {
        let before = tokens.get(at.saturating_sub(MAX_TYPE)..at)?;
        type_before(before, types).map(|(kind, _)| kind)
    })
}
