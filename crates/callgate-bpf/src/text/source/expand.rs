//! Expansion of the macros of C, as gcc does it (C17, 6.10.3).
//!
//! Arguments are expanded before they are inserted, except beside `#` and `##`; the result is scanned again together with
//! what follows. A macro in its own expansion is not expanded, then or later.
//!
//! The work is bounded: every token that is looked at counts, so macros whose expansion doubles with each definition end
//! with an error, and the recursion over arguments and macros has a limit of its own.

use std::cell::{Cell, OnceCell};

use super::macros::{Macro, Macros, Part};
use crate::cursor::Result;
use crate::diagnostic::{Position, error};
use crate::lexer::MAX_TOKENS;
use crate::token::{Token, TokenKind, quote};

/// How many tokens the expansion of a text may look at.
const MAX_STEPS: usize = 4_000_000;
/// How deep macros may be nested.
const MAX_NESTING: usize = 50;
/// How many names `##` may make.
const MAX_MADE: usize = 1 << 16;

/// The names that `##` makes. They live as long as the text.
pub(super) struct Made {
    names: Vec<OnceCell<String>>,
    used: Cell<usize>,
}

impl Made {
    /// For a text; those without `##` make no names.
    pub(super) fn of(text: &str) -> Made {
        let most = if text.contains("##") || text.contains("%:%:") { MAX_MADE } else { 1024 };
        Made { names: vec![OnceCell::new(); most], used: Cell::new(0) }
    }

    fn add(&self, name: String) -> Option<&str> {
        let cell = self.names.get(self.used.get())?;
        self.used.set(self.used.get() + 1);
        Some(cell.get_or_init(|| name))
    }
}

/// A token in an expansion.
#[derive(Clone, Copy)]
pub(super) struct Piece<'a> {
    pub(super) token: Token<'a>,
    /// Whether it names a macro inside its own expansion.
    is_final: bool,
    /// Whether it was scanned for macros: one of the headers would have been expanded.
    is_scanned: bool,
}

/// The work that an expansion took, and what it left open.
#[derive(Default)]
pub(super) struct Work {
    steps: usize,
    /// A macro with parameters at the end of what was expanded, whose arguments may follow.
    pub(super) open_call: Option<Position>,
}

/// What macros are expanded with.
pub(super) struct Expander<'x, 't, 'a> {
    macros: &'x Macros<'t, 'a>,
    made: &'a Made,
    work: &'x mut Work,
    /// Whether `defined` is an operator, and only macros of the text are expanded.
    pub(super) in_condition: bool,
    /// Whether headers define a macro of this name.
    is_of_headers: Option<&'x dyn Fn(&str) -> bool>,
}

enum Tokens<'t, 'a> {
    Text(&'t [Token<'a>]),
    Pieces(std::vec::IntoIter<Piece<'a>>),
}

/// Tokens that are scanned, and the macro from which they are.
struct Frame<'t, 'a> {
    tokens: Tokens<'t, 'a>,
    name: Option<&'a str>,
}

/// What is scanned: the innermost expansion comes last.
struct Scan<'t, 'a> {
    frames: Vec<Frame<'t, 'a>>,
    /// The macros whose expansions are scanned, here and around an argument.
    active: Vec<&'a str>,
    depth: usize,
}

impl<'t, 'a> Scan<'t, 'a> {
    fn next(&mut self) -> Option<Piece<'a>> {
        while let Some(frame) = self.frames.last_mut() {
            let piece = match &mut frame.tokens {
                Tokens::Pieces(pieces) => pieces.next(),
                Tokens::Text(tokens) => {
                    let first = tokens.iter().position(|token| !token.is_line_end());
                    let rest = first.and_then(|first| tokens.get(first..)?.split_first());
                    *tokens = rest.map_or(&[], |(_, rest)| rest);
                    rest.map(|(first, _)| Piece::new(*first))
                }
            };
            if piece.is_some() {
                return piece;
            }
            let ended = self.frames.pop().and_then(|frame| frame.name);
            let at = ended.and_then(|name| self.active.iter().rposition(|one| *one == name));
            at.map(|at| self.active.remove(at));
        }
        None
    }

    fn push(
        &mut self,
        tokens: Tokens<'t, 'a>,
        name: Option<&'a str>,
        position: Position,
    ) -> Result<()> {
        if self.depth + self.frames.len() > MAX_NESTING {
            let message =
                format!("macros are nested more than {MAX_NESTING} times here, the limit");
            return Err(error(position, message));
        }
        self.frames.push(Frame { tokens, name });
        self.active.extend(name);
        Ok(())
    }
}

impl<'a> Piece<'a> {
    fn new(token: Token<'a>) -> Self {
        Piece { token, is_final: false, is_scanned: false }
    }
}

impl<'x, 't, 'a> Expander<'x, 't, 'a> {
    pub(super) fn new(
        macros: &'x Macros<'t, 'a>,
        made: &'a Made,
        work: &'x mut Work,
        is_of_headers: Option<&'x dyn Fn(&str) -> bool>,
    ) -> Self {
        Expander { macros, made, work, in_condition: false, is_of_headers }
    }

    /// Expands the macros in a part of the text, and appends the result.
    pub(super) fn expand(
        &mut self,
        text: &'t [Token<'a>],
        result: &mut Vec<Token<'a>>,
    ) -> Result<()> {
        let frames = vec![Frame { tokens: Tokens::Text(text), name: None }];
        self.work.open_call = None;
        self.run(Scan { frames, active: Vec::new(), depth: 0 }, &mut |piece| {
            result.push(piece.token);
            result.len() <= MAX_TOKENS
        })
    }

    fn run(
        &mut self,
        mut scan: Scan<'t, 'a>,
        out: &mut dyn FnMut(Piece<'a>) -> bool,
    ) -> Result<()> {
        while let Some(piece) = scan.next() {
            self.step(piece.token.position)?;
            let token = piece.token;
            let mut emit = |piece: Piece<'a>| match out(piece) {
                true => Ok(()),
                false => Err(too_many(piece.token.position)),
            };
            if !token.is_name() || piece.is_final {
                emit(piece)?;
                continue;
            }
            if self.in_condition && token.text == "defined" {
                emit(piece)?;
                // The name after it is not expanded.
                if let Some(next) = scan.next() {
                    emit(next)?;
                    let name = if next.token.is('(') { scan.next() } else { None };
                    name.map_or(Ok(()), emit)?;
                }
                continue;
            }
            let found = self
                .macros
                .get(token.text)
                .filter(|known| !(self.in_condition && known.is_well_known));
            let Some((name, known)) = found.map(|known| (known.name, known)) else {
                emit(Piece { is_scanned: true, ..piece })?;
                continue;
            };
            if scan.active.contains(&name) {
                emit(Piece { is_final: true, ..piece })?;
                continue;
            }
            let Some(parameters) = &known.parameters else {
                let body = match known.has_operators {
                    true => self.substitute(known, &[], token.position, &scan)?,
                    false => {
                        let position = token.position;
                        let pieces = known.body.iter();
                        pieces.map(|token| Piece::new(Token { position, ..*token })).collect()
                    }
                };
                self.work.steps += if known.has_operators { 0 } else { body.len() };
                scan.push(Tokens::Pieces(body.into_iter()), Some(name), token.position)?;
                continue;
            };
            match scan.next() {
                Some(open) if open.token.is('(') => {
                    let arguments = self.arguments(&mut scan, known, parameters.len(), token)?;
                    let body = self.substitute(known, &arguments, token.position, &scan)?;
                    scan.push(Tokens::Pieces(body.into_iter()), Some(name), token.position)?;
                }
                other => {
                    emit(piece)?;
                    match other {
                        Some(next) => {
                            let next = Tokens::Pieces(vec![next].into_iter());
                            scan.push(next, None, token.position)?;
                        }
                        None if scan.depth == 0 => self.work.open_call = Some(token.position),
                        None => {}
                    }
                }
            }
        }
        Ok(())
    }

    fn step(&mut self, position: Position) -> Result<()> {
        self.work.steps += 1;
        if self.work.steps > MAX_STEPS { Err(too_many(position)) } else { Ok(()) }
    }

    /// The arguments of a call after its `(`; the last one is that of `...`, if the macro has it.
    fn arguments(
        &mut self,
        scan: &mut Scan<'t, 'a>,
        called: &Macro<'t, 'a>,
        parameters: usize,
        call: Token<'a>,
    ) -> Result<Vec<Vec<Piece<'a>>>> {
        let most = parameters + usize::from(called.is_variadic);
        let (mut depth, mut arguments) = (0usize, vec![Vec::new()]);
        loop {
            let Some(mut piece) = scan.next() else {
                let message =
                    format!("this call of the macro {} has no `)` here", quote(call.text));
                return Err(error(call.position, message).help(
                    "add it; a call with a directive (`#if`) in it is not read: write it out",
                ));
            };
            self.step(piece.token.position)?;
            piece.is_final |= piece.token.is_name()
                && scan.active.contains(&piece.token.text)
                && self.macros.contains_key(piece.token.text);
            match piece.token.kind {
                TokenKind::Mark(')') if depth == 0 => break,
                TokenKind::Mark(',')
                    if depth == 0 && !(called.is_variadic && arguments.len() == most) =>
                {
                    arguments.push(Vec::new());
                    continue;
                }
                TokenKind::Mark('(') => depth += 1,
                TokenKind::Mark(')') => depth -= 1,
                _ => {}
            }
            if let Some(last) = arguments.last_mut() {
                last.push(piece);
            }
        }
        let has_none = arguments.len() == 1 && arguments.iter().all(Vec::is_empty);
        if most == 0 && has_none {
            arguments.clear();
        }
        // What `...` stands for may be left out.
        if called.is_variadic && arguments.len() == parameters {
            arguments.push(Vec::new());
        }
        if arguments.len() != most {
            let message = format!(
                "the macro {} has {parameters} parameters, found {} arguments",
                quote(call.text),
                arguments.len()
            );
            return Err(error(call.position, message));
        }
        Ok(arguments)
    }

    /// The body of a macro with its arguments.
    fn substitute(
        &mut self,
        called: &Macro<'t, 'a>,
        arguments: &[Vec<Piece<'a>>],
        position: Position,
        scan: &Scan<'t, 'a>,
    ) -> Result<Vec<Piece<'a>>> {
        let parts = called.parts();
        let mut expanded: Vec<Option<Vec<Piece<'a>>>> = vec![None; arguments.len()];
        let mut body: Vec<Piece<'a>> = Vec::new();
        // Whether the next part is joined to the part before it (`##`), and whether that part is empty.
        let (mut joins, mut is_left_empty) = (false, false);
        for (at, part) in parts.iter().enumerate() {
            self.step(position)?;
            let is_joined = joins || matches!(parts.get(at + 1), Some(Part::Join));
            let of_body = |token: Token<'a>| Piece::new(Token { position, ..token });
            let pieces = match part {
                Part::Join => {
                    joins = true;
                    continue;
                }
                Part::Token(token) => vec![of_body(*token)],
                Part::Text => {
                    vec![of_body(Token { kind: TokenKind::Mark('"'), text: "\"\"", position })]
                }
                Part::Parameter(nth) if is_joined => {
                    arguments.get(*nth).cloned().unwrap_or_default()
                }
                Part::Parameter(nth) => {
                    let argument = arguments.get(*nth).map(Vec::as_slice).unwrap_or_default();
                    match expanded.get_mut(*nth) {
                        Some(Some(known)) => known.clone(),
                        Some(slot) => {
                            let known = self.argument(argument, position, scan)?;
                            slot.insert(known).clone()
                        }
                        None => Vec::new(),
                    }
                }
            };
            self.work.steps += pieces.len();
            self.step(position)?;
            let is_empty = pieces.is_empty();
            let is_rest = called.is_variadic
                && matches!(part, Part::Parameter(nth) if *nth + 1 == arguments.len());
            let after_comma =
                at >= 2 && matches!(parts.get(at - 2), Some(Part::Token(token)) if token.is(','));
            let was_joined = std::mem::take(&mut joins);
            match (was_joined, is_rest && after_comma) {
                (false, _) => body.extend(pieces),
                // GNU: the comma goes with the arguments that it would precede.
                (true, true) if is_empty => {
                    body.pop();
                }
                (true, true) => body.extend(pieces),
                (true, false) if is_empty => {}
                (true, false) if is_left_empty => body.extend(pieces),
                (true, false) => {
                    let mut pieces = pieces.into_iter();
                    if let (Some(left), Some(right)) = (body.pop(), pieces.next()) {
                        self.join(left, right, &mut body)?;
                    }
                    body.extend(pieces);
                }
            }
            is_left_empty = is_empty && (!was_joined || is_left_empty);
        }
        Ok(body)
    }

    /// An argument with its macros expanded.
    fn argument(
        &mut self,
        argument: &[Piece<'a>],
        position: Position,
        around: &Scan<'t, 'a>,
    ) -> Result<Vec<Piece<'a>>> {
        let mut scan = Scan {
            frames: Vec::new(),
            active: around.active.clone(),
            depth: around.depth + around.frames.len() + 1,
        };
        let pieces: Vec<Piece<'a>> = argument.to_vec();
        scan.push(Tokens::Pieces(pieces.into_iter()), None, position)?;
        let mut result = Vec::with_capacity(argument.len());
        self.run(scan, &mut |piece| {
            result.push(piece);
            result.len() <= MAX_TOKENS
        })?;
        Ok(result)
    }

    /// Joins two tokens, and appends the result.
    fn join(&self, left: Piece<'a>, right: Piece<'a>, result: &mut Vec<Piece<'a>>) -> Result<()> {
        let position = left.token.position;
        let joined = format!("{}{}", left.token.text, right.token.text);
        // gcc has replaced a macro of the headers here, whose text is not known.
        let is_replaced = |piece: &Piece<'a>| {
            piece.is_scanned
                && piece.token.is_name()
                && self.is_of_headers.is_some_and(|is_of_headers| is_of_headers(piece.token.text))
        };
        let is_name = |c: char| c.is_alphanumeric() || c == '_' || c == '$';
        let starts_number = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
        let is_word = left.token.is_name() && joined.chars().all(is_name);
        let is_number = starts_number(left.token.text)
            && joined.chars().all(|c| c.is_ascii_alphanumeric() || c == '.' || c == '_');
        let (kind, text) = if [left, right].iter().any(is_replaced) {
            (TokenKind::Word, format!("{}##{}", left.token.text, right.token.text))
        } else if is_word {
            (TokenKind::Word, joined)
        } else if is_number {
            (TokenKind::Number(Ok(0)), joined)
        } else if OPERATORS.contains(&joined.as_str()) {
            result.extend([left, right]);
            return Ok(());
        } else {
            let (left, right) = (quote(left.token.text), quote(right.token.text));
            return Err(error(position, format!("`##` joins {left} and {right} to no token")));
        };
        let text = self.made.add(text).ok_or_else(|| {
            error(position, format!("`##` makes more than {MAX_MADE} names, the limit"))
        })?;
        let token = Token { kind, text, position };
        result.push(Piece::new(token));
        Ok(())
    }
}

/// Operators of two characters, which stay two tokens.
const OPERATORS: &[&str] = &["||", "&&", "<<", ">>", "==", "!=", "<=", ">=", "->", "++", "--"];

fn too_many(position: Position) -> crate::diagnostic::Diagnostic {
    let message =
        format!("with its macros expanded, this text has more than {MAX_TOKENS} tokens, the limit");
    error(position, message)
}
