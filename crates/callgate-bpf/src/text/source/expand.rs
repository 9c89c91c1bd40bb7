//! Expansion of the macros of C.
//!
//! `##` stays in the result: what reads a name joins its parts. A macro in its own expansion is not expanded.
//!
//! Arguments are expanded where a parameter occurs, in the scope of the call. Scopes and places are kept on stacks, so
//! the recursion of macros has a limit of its own, and every token that is looked at counts: macros whose expansion
//! doubles with each definition end with an error.

use std::collections::HashMap;

use super::super::error::error;
use super::cursor::Result;
use crate::diagnostic::Position;
use crate::lexer::{Token, TokenKind, quote};

/// How many tokens the expansion of a text may look at.
const MAX_STEPS: usize = 4_000_000;
/// How many tokens an expanded text may have.
const MAX_TOKENS: usize = 2_000_000;
/// How deep macros may be nested.
const MAX_NESTING: usize = 50;

/// How many parameters a macro may have.
pub(super) const MAX_PARAMETERS: usize = 64;

/// A macro; its body is a part of the text.
pub(super) struct Macro<'t, 'a> {
    /// The parameters of a macro that is called.
    pub(super) parameters: Option<Vec<&'a str>>,
    pub(super) is_variadic: bool,
    pub(super) body: &'t [Token<'a>],
}

/// Macros by name.
pub(super) type Macros<'t, 'a> = HashMap<&'a str, Macro<'t, 'a>>;

/// An expanded text, and the work that it took.
#[derive(Default)]
pub(super) struct Expanded<'a> {
    pub(super) tokens: Vec<Token<'a>>,
    steps: usize,
}

/// Tokens that are being expanded.
struct Frame<'t, 'a> {
    tokens: &'t [Token<'a>],
    /// The scope of their parameters.
    scope: Option<usize>,
    /// Whether they are the body of the macro of that scope.
    is_body: bool,
    /// Whether they are part of a name, so that macros in them are not expanded.
    is_joined: bool,
}

/// A macro that is being expanded.
struct Scope<'m, 't, 'a> {
    name: &'a str,
    definition: &'m Macro<'t, 'a>,
    /// The arguments, and the scope that they are in.
    arguments: Vec<&'t [Token<'a>]>,
    outer: Option<usize>,
}

/// Expands the macros in a part of the text and appends the result.
pub(super) fn expand<'t, 'a>(
    text: &'t [Token<'a>],
    macros: &Macros<'t, 'a>,
    result: &mut Expanded<'a>,
) -> Result<()> {
    let mut scopes: Vec<Scope<'_, 't, 'a>> = Vec::new();
    let mut frames = vec![Frame { tokens: text, scope: None, is_body: false, is_joined: false }];
    let mut position = Position { line: 1, column: 1 };
    while let Some(frame) = frames.last_mut() {
        let Some((token, rest)) = frame.tokens.split_first() else {
            if frame.is_body {
                scopes.pop();
            }
            frames.pop();
            continue;
        };
        frame.tokens = rest;
        let is_outermost = frame.scope.is_none();
        if is_outermost {
            position = token.position;
        }
        result.steps += 1;
        if result.steps > MAX_STEPS || result.tokens.len() >= MAX_TOKENS {
            let message = format!(
                "with its macros expanded, this text has more than {MAX_TOKENS} tokens, the limit"
            );
            return Err(error(position, message));
        }
        if is_blank(token) {
            continue;
        }
        let (scope, is_joined) = (frame.scope, frame.is_joined);
        let joins = joins_next(frame.tokens) || joined_to(&result.tokens);
        let call = scope.and_then(|scope| scopes.get(scope));
        let argument = call.filter(|_| token.kind == TokenKind::Word).and_then(|scope| {
            let parameters = scope.definition.parameters.as_deref().unwrap_or_default();
            let variadic = scope.definition.is_variadic && token.text == "__VA_ARGS__";
            let nth = match variadic {
                true => Some(parameters.len()),
                false => parameters.iter().position(|name| *name == token.text),
            };
            Some((*scope.arguments.get(nth?)?, scope.outer))
        });
        let nested = frames.len();
        let pushed = if let Some((tokens, scope)) = argument {
            Some(Frame { tokens, scope, is_body: false, is_joined: joins })
        } else if is_joined || joins || token.kind != TokenKind::Word {
            None
        } else {
            let known = macros.get_key_value(token.text);
            known.filter(|(name, _)| !is_active(&scopes, scope, name)).and_then(|(name, known)| {
                let arguments = match &known.parameters {
                    None => Vec::new(),
                    Some(_) => {
                        let frame = frames.last_mut()?;
                        let (arguments, rest) = arguments(frame.tokens, known, &mut result.steps)?;
                        frame.tokens = rest;
                        arguments
                    }
                };
                scopes.push(Scope { name, definition: known, arguments, outer: scope });
                let scope = Some(scopes.len() - 1);
                Some(Frame { tokens: known.body, scope, is_body: true, is_joined: false })
            })
        };
        match pushed {
            Some(_) if nested >= MAX_NESTING => {
                let message = format!(
                    "the macros of {} are nested more than {MAX_NESTING} times, the limit",
                    quote(token.text)
                );
                return Err(error(position, message));
            }
            Some(frame) => frames.push(frame),
            None => {
                // A token of a macro is at the place where the macro is used.
                let position = if is_outermost { token.position } else { position };
                result.tokens.push(Token { position, ..*token });
            }
        }
    }
    Ok(())
}

/// Line ends and the marks that continue a line.
pub(super) fn is_blank(token: &Token<'_>) -> bool {
    token.kind == TokenKind::LineEnd || token.is('\\')
}

fn joins_next(rest: &[Token<'_>]) -> bool {
    matches!(rest, [first, second, ..] if first.is('#') && second.is('#'))
}

fn joined_to(before: &[Token<'_>]) -> bool {
    matches!(before, [.., first, second] if first.is('#') && second.is('#'))
}

/// Whether a macro is being expanded around a scope.
fn is_active(scopes: &[Scope<'_, '_, '_>], scope: Option<usize>, name: &str) -> bool {
    let mut at = scope;
    while let Some(scope) = at.and_then(|at| scopes.get(at)) {
        if scope.name == name {
            return true;
        }
        at = scope.outer;
    }
    false
}

/// The arguments of a call, and the tokens after it; `None` if this is not a call with as many arguments as parameters.
fn arguments<'t, 'a>(
    tokens: &'t [Token<'a>],
    called: &Macro<'_, '_>,
    steps: &mut usize,
) -> Option<(Vec<&'t [Token<'a>]>, &'t [Token<'a>])> {
    let open = tokens.iter().position(|token| !is_blank(token))?;
    let inside = tokens.get(open + 1..).filter(|_| tokens.get(open).is_some_and(|t| t.is('(')))?;
    let parameters = called.parameters.as_ref()?.len();
    let (mut depth, mut from, mut arguments) = (0usize, 0, Vec::new());
    for (at, token) in inside.iter().enumerate() {
        *steps += 1;
        if *steps > MAX_STEPS {
            return None;
        }
        let is_end = token.is(')') && depth == 0;
        let may_split = !called.is_variadic || arguments.len() < parameters;
        if arguments.len() > parameters + 1 {
            return None;
        }
        if is_end || (token.is(',') && depth == 0 && may_split) {
            arguments.push(inside.get(from..at)?);
            from = at + 1;
        }
        if is_end {
            let has_none = parameters == 0 && inside.get(..at)?.iter().all(is_blank);
            if has_none {
                arguments.clear();
            }
            let expected =
                parameters + usize::from(called.is_variadic && arguments.len() > parameters);
            return (arguments.len() == expected).then_some((arguments, inside.get(at + 1..)?));
        }
        match token.kind {
            TokenKind::Mark('(') => depth += 1,
            TokenKind::Mark(')') => depth -= 1,
            _ => {}
        }
    }
    None
}
