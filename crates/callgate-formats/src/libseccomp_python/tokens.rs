//! Parts of lines: names with members, lists of arguments and parameters, brackets.

use super::lines::Token;

/// A name with its members: `self.filter`.
pub(super) fn path(tokens: &[Token]) -> Option<String> {
    let mut path = String::new();
    for (at, token) in tokens.iter().enumerate() {
        match (at % 2, token.name()) {
            (0, Some(name)) => path.push_str(name),
            (1, None) if token.is('.') => path.push('.'),
            _ => return None,
        }
    }
    (tokens.len() % 2 == 1).then_some(path)
}

/// The colon that ends the header of a block.
pub(super) fn colon(tokens: &[Token]) -> Option<usize> {
    let is_lambda = tokens.iter().any(|token| token.name() == Some("lambda"));
    if is_lambda {
        return tokens.len().checked_sub(1);
    }
    outside(tokens, |window| window.first().is_some_and(|token| token.is(':')))
}

/// The first place outside of brackets at which something begins.
pub(super) fn outside(tokens: &[Token], is_it: impl Fn(&[Token]) -> bool) -> Option<usize> {
    let mut depth = 0usize;
    tokens.iter().enumerate().position(|(at, token)| {
        if ['(', '[', '{'].iter().any(|sign| token.is(*sign)) {
            depth += 1;
        } else if [')', ']', '}'].iter().any(|sign| token.is(*sign)) {
            depth = depth.saturating_sub(1);
        }
        depth == 0 && is_it(tokens.get(at..).unwrap_or_default())
    })
}

/// The parameters of a function, from `def` on.
pub(super) fn parameters(header: &[Token]) -> Vec<(String, Vec<Token>)> {
    let open = header.iter().position(|token| token.is('('));
    let inside = open.and_then(|open| header.get(open + 1..)).unwrap_or_default();
    let end = {
        let mut depth = 1usize;
        inside.iter().position(|token| {
            if ['(', '[', '{'].iter().any(|sign| token.is(*sign)) {
                depth += 1;
            } else if [')', ']', '}'].iter().any(|sign| token.is(*sign)) {
                depth -= 1;
            }
            depth == 0
        })
    };
    let inside = inside.get(..end.unwrap_or(inside.len())).unwrap_or_default();
    arguments(inside)
        .into_iter()
        .filter_map(|one| {
            let name = one.iter().find_map(Token::name)?.to_owned();
            let default = outside(one, |window| window.first().is_some_and(|token| token.is('=')));
            let default = default.and_then(|at| one.get(at + 1..)).unwrap_or_default();
            Some((name, default.to_vec()))
        })
        .collect()
}

/// The parts between commas outside of brackets.
pub(super) fn arguments(tokens: &[Token]) -> Vec<&[Token]> {
    let mut found = Vec::new();
    let mut rest = tokens;
    while !rest.is_empty() {
        let comma = outside(rest, |window| window.first().is_some_and(|token| token.is(',')));
        let (one, after) =
            rest.split_at_checked(comma.unwrap_or(rest.len())).unwrap_or((rest, &[]));
        if !one.is_empty() {
            found.push(one);
        }
        rest = after.get(1..).unwrap_or_default();
    }
    found
}

/// The place of the bracket that closes the one at a place, or the end.
pub(super) fn end_of_brackets(tokens: &[Token], open: usize) -> usize {
    let mut depth = 0usize;
    for (at, token) in tokens.iter().enumerate().skip(open) {
        if ['(', '[', '{'].iter().any(|sign| token.is(*sign)) {
            depth += 1;
        } else if [')', ']', '}'].iter().any(|sign| token.is(*sign)) {
            depth = depth.saturating_sub(1);
            if depth == 0 {
                return at;
            }
        }
    }
    tokens.len()
}
