//! The parser: from tokens to instructions with named targets. After an error, it continues with the next
//! line; the broken one counts as an instruction.

use std::fmt;

use super::error::Errors;
use crate::diagnostic::{Diagnostic, Position};
use crate::lexer::{BadNumber, Token, TokenKind, quote};
use callgate_core::{Endian, Insn, Op};

/// A program whose targets are not resolved yet.
#[derive(Debug, Default)]
pub(super) struct Parsed<'a> {
    pub(super) statements: Vec<Statement<'a>>,
    pub(super) labels: Vec<Label<'a>>,
}

impl<'a> Parsed<'a> {
    fn push(
        &mut self,
        statement: Result<(Insn, Targets<'a>)>,
        name: Option<(&'a str, Position)>,
        position: Position,
    ) -> Result<()> {
        let (statement, result) = match statement {
            Ok((insn, targets)) => (Statement { insn, targets, name, position }, Ok(())),
            Err(error) => (Statement::unreadable(position), Err(error)),
        };
        self.statements.push(statement);
        result
    }
}

#[derive(Debug)]
pub(super) struct Statement<'a> {
    pub(super) insn: Insn,
    pub(super) targets: Targets<'a>,
    /// The name of the constant, whose value is not known yet.
    pub(super) name: Option<(&'a str, Position)>,
    pub(super) position: Position,
}

impl Statement<'_> {
    /// A placeholder, so that jumps over it have the right distance.
    fn unreadable(position: Position) -> Self {
        Statement { insn: Insn::new(Op::RetK, 0), targets: Targets::None, name: None, position }
    }
}

#[derive(Debug)]
pub(super) struct Label<'a> {
    pub(super) name: &'a str,
    pub(super) index: usize,
    pub(super) position: Position,
}

/// The targets of an instruction.
#[derive(Debug)]
pub(super) enum Targets<'a> {
    None,
    Jump(Target<'a>),
    Branch { holds: Target<'a>, fails: Target<'a> },
}

/// A jump target.
#[derive(Clone, Copy, Debug)]
pub(super) enum Target<'a> {
    Next,
    Skip(u32, Position),
    Label(&'a str, Position),
    /// The instruction with this index.
    Line(usize, Position),
}

impl Target<'_> {
    pub(super) fn position(&self) -> Option<Position> {
        match *self {
            Target::Next => None,
            Target::Skip(_, position) | Target::Label(_, position) | Target::Line(_, position) => {
                Some(position)
            }
        }
    }
}

impl fmt::Display for Target<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Target::Next => f.write_str("`next`"),
            Target::Skip(distance, _) => write!(f, "`+{distance}`"),
            Target::Label(name, _) => f.write_str(&quote(name)),
            Target::Line(number, _) => write!(f, "`{number}`"),
        }
    }
}

/// What the names of words and returned values in a text stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Names {
    Seccomp,
    IoUring,
}

/// Parses a program, in this byte order unless `.endian` sets another. Returns the byte order at the end as
/// well.
pub(super) fn parse<'a>(
    tokens: &[Token<'a>],
    names: Names,
    mut endian: Endian,
) -> (Parsed<'a>, Endian, Errors) {
    let mut program = Parsed::default();
    let mut errors = Errors::default();
    for line in tokens.split(|token| token.kind == TokenKind::LineEnd) {
        let end = line.last().map(|last| Position {
            column: last.position.column + last.text.chars().count() as u32,
            ..last.position
        });
        let mut parser = Parser { rest: line, end, names, endian, name: None };
        let read = match parser.take_line_number() {
            None => {
                if let Some((given, position)) = parser.take_index() {
                    let due = program.statements.len();
                    if errors.is_empty() && given.parse() != Ok(due) {
                        errors.push(out_of_order(due, given, position));
                    }
                }
                parser.line(&mut program)
            }
            Some((given, position)) => {
                let due = program.statements.len();
                // If one is missing, all following numbers are wrong as well.
                if errors.is_empty() && given.parse() != Ok(due) {
                    errors.push(out_of_order(due, given, position));
                }
                parser.listed_line(&mut program, position)
            }
        };
        if let Err(error) = read {
            errors.push(error);
        }
        endian = parser.endian;
    }
    (program, endian, errors)
}

fn out_of_order(due: usize, given: &str, position: Position) -> Diagnostic {
    let message = format!("expected line {due} of the listing, found {}", quote(given));
    Diagnostic::error(Some(position), message).help("lines are missing or out of order")
}

/// The rest of a line.
pub(super) struct Parser<'t, 'a> {
    rest: &'t [Token<'a>],
    end: Option<Position>,
    pub(super) names: Names,
    endian: Endian,
    /// The name in the place of the constant of the current instruction.
    pub(super) name: Option<(&'a str, Position)>,
}

pub(super) type Result<T> = std::result::Result<T, Diagnostic>;

impl<'a> Parser<'_, 'a> {
    /// The number of an instruction and a colon: its text and position.
    fn take_index(&mut self) -> Option<(&'a str, Position)> {
        let [number, colon, ..] = self.rest else { return None };
        let (text, position) = (number.text, number.position);
        let is_index = matches!(number.kind, TokenKind::Number(_)) && colon.is(':');
        is_index.then(|| self.skip(2)).map(|()| (text, position))
    }

    fn line(&mut self, program: &mut Parsed<'a>) -> Result<()> {
        // The number of a listing's line.
        if let [Token { kind: TokenKind::Number(_), .. }, Token { kind: TokenKind::Word, .. }, ..] =
            self.rest
        {
            self.next();
        }
        while let Some(token) = self.peek() {
            let position = token.position;
            let is_marked = token.is('@')
                && matches!(self.rest, [_, name, colon, ..]
                    if name.kind == TokenKind::Word && colon.is(':'));
            if is_marked {
                self.next();
            } else if token.kind == TokenKind::Word
                && self.rest.get(1).is_some_and(|next| next.is(':'))
            {
                if let Some(reserved) = RESERVED.iter().find(|reserved| token.is_word(reserved)) {
                    program.statements.push(Statement::unreadable(position));
                    let message = format!("`{reserved}` is reserved and cannot be a label");
                    return Err(Diagnostic::error(Some(position), message));
                }
                let index = program.statements.len();
                program.labels.push(Label { name: token.text, index, position });
                self.next();
                self.next();
            } else if self.take_word(".endian") {
                self.endian = self.byte_order()?;
            } else {
                let statement = self.statement();
                program.push(statement, self.name.take(), position)?;
            }
        }
        Ok(())
    }

    fn listed_line(&mut self, program: &mut Parsed<'a>, position: Position) -> Result<()> {
        let statement = self.listed();
        program.push(statement, self.name.take(), position)
    }

    fn byte_order(&mut self) -> Result<Endian> {
        if self.take_word("little") {
            Ok(Endian::Little)
        } else if self.take_word("big") {
            Ok(Endian::Big)
        } else {
            Err(self.expected("`little` or `big`"))
        }
    }

    pub(super) fn endian(&self) -> Endian {
        self.endian
    }

    pub(super) fn rest(&self) -> &[Token<'a>] {
        self.rest
    }

    pub(super) fn peek(&self) -> Option<Token<'a>> {
        self.rest.first().copied()
    }

    pub(super) fn next(&mut self) -> Option<Token<'a>> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    pub(super) fn skip(&mut self, tokens: usize) {
        self.rest = self.rest.get(tokens..).unwrap_or_default();
    }

    /// The position of the next token, or of the end of the line.
    pub(super) fn position(&self) -> Option<Position> {
        self.peek().map(|token| token.position).or(self.end)
    }

    pub(super) fn take(&mut self, mark: char) -> bool {
        let there = self.peek().is_some_and(|token| token.is(mark));
        if there {
            self.next();
        }
        there
    }

    pub(super) fn take_word(&mut self, word: &str) -> bool {
        let there = self.peek().is_some_and(|token| token.is_word(word));
        if there {
            self.next();
        }
        there
    }

    pub(super) fn expect(&mut self, mark: char) -> Result<()> {
        if self.take(mark) { Ok(()) } else { Err(self.expected(&format!("`{mark}`"))) }
    }

    /// A number; `what` describes it in messages.
    pub(super) fn number(&mut self, what: &str) -> Result<u32> {
        self.take('+');
        let Some(Token { kind: TokenKind::Number(value), text, position }) = self.peek() else {
            return Err(self.expected(what));
        };
        let message = match value {
            Ok(value) => {
                self.next();
                return Ok(value);
            }
            Err(BadNumber::Range) => {
                format!(
                    "{} does not fit into 32 bits; the limits are -2147483648 and 4294967295",
                    quote(text)
                )
            }
            Err(BadNumber::Digits) => {
                format!(
                    "{} is not a number (0x: hexadecimal, 0b: binary, a leading 0: octal)",
                    quote(text)
                )
            }
        };
        Err(Diagnostic::error(Some(position), message))
    }

    /// A number up to a limit; `what` describes it in messages.
    pub(super) fn number_up_to(&mut self, limit: u32, what: &str) -> Result<u32> {
        let position = self.position();
        match self.number(what)? {
            value if value > limit => {
                let message = format!("{value} is too large for {what}; the limit is {limit}");
                Err(Diagnostic::error(position, message))
            }
            value => Ok(value),
        }
    }

    pub(super) fn expected(&self, what: &str) -> Diagnostic {
        let message = match self.peek() {
            Some(token) => format!("expected {what}, found {}", quote(token.text)),
            None => format!("expected {what} at the end of the line"),
        };
        Diagnostic::error(self.position(), message)
    }
}

/// Reserved words.
const RESERVED: &[&str] = &["next", "a", "x", "M"];
