//! The parser: from tokens to instructions with named targets. After an error, it continues with the next
//! line; the broken one counts as an instruction.

use std::fmt;

use super::error::Errors;
use crate::cursor::{Cursor, Result};
use crate::diagnostic::{Position, error};
use crate::token::{BadNumber, Token, TokenKind, quote};
use callgate_core::{Endian, Insn, Op};

/// A program whose targets are not resolved yet.
#[derive(Debug, Default)]
pub(super) struct Parsed<'a> {
    pub(super) statements: Vec<Statement<'a>>,
    pub(super) labels: Vec<Label<'a>>,
}

#[derive(Debug)]
pub(super) struct Statement<'a> {
    pub(super) insn: Insn,
    pub(super) targets: Targets<'a>,
    /// The name of the constant, whose value is not known yet.
    pub(super) name: Option<(&'a str, Position)>,
    pub(super) position: Position,
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
    for line in tokens.split(Token::is_line_end) {
        let mut parser = Parser { cursor: Cursor::of_line(line), names, endian, name: None };
        let listed = parser.take_line_number();
        if let Some(given) = listed.or_else(|| parser.take_index()) {
            let due = program.statements.len();
            // If one is missing, all following numbers are wrong as well.
            if errors.is_empty() && given.text.parse() != Ok(due) {
                let message =
                    format!("expected line {due} of the listing, found {}", quote(given.text));
                errors
                    .push(error(given.position, message).help("lines are missing or out of order"));
            }
        }
        let read = match listed {
            None => parser.line(&mut program),
            Some(number) => {
                let statement = parser.listed();
                parser.add(statement, number.position, &mut program)
            }
        };
        errors.extend(read.err());
        endian = parser.endian;
    }
    (program, endian, errors)
}

/// The rest of a line.
pub(super) struct Parser<'t, 'a> {
    pub(super) cursor: Cursor<'t, 'a>,
    pub(super) names: Names,
    pub(super) endian: Endian,
    /// The name in the place of the constant of the current instruction.
    pub(super) name: Option<(&'a str, Position)>,
}

impl<'a> Parser<'_, 'a> {
    /// The number of an instruction, which has a colon after it.
    fn take_index(&mut self) -> Option<Token<'a>> {
        let [number, colon, ..] = self.cursor.rest() else { return None };
        let is_index = number.is_number() && colon.is(':');
        is_index.then(|| {
            self.cursor.skip(2);
            *number
        })
    }

    fn line(&mut self, program: &mut Parsed<'a>) -> Result<()> {
        // The number of a listing's line.
        if matches!(self.cursor.rest(), [number, word, ..] if number.is_number() && word.is_name())
        {
            self.cursor.skip(1);
        }
        while let Some(token) = self.cursor.peek() {
            let position = token.position;
            match self.cursor.rest() {
                [at, name, colon, ..] if at.is('@') && name.is_name() && colon.is(':') => {
                    self.cursor.skip(1);
                }
                [label, colon, ..] if label.is_name() && colon.is(':') => {
                    if let Some(reserved) = RESERVED.iter().find(|reserved| label.is_word(reserved))
                    {
                        let message = format!("`{reserved}` is reserved and cannot be a label");
                        return self.add(Err(error(position, message)), position, program);
                    }
                    let index = program.statements.len();
                    program.labels.push(Label { name: label.text, index, position });
                    self.cursor.skip(2);
                }
                _ if self.cursor.take_word(".endian") => {
                    let is_little = self.cursor.take_word("little");
                    if !is_little && !self.cursor.take_word("big") {
                        return self.cursor.fail("`little` or `big`");
                    }
                    self.endian = if is_little { Endian::Little } else { Endian::Big };
                }
                _ => {
                    let statement = self.statement();
                    self.add(statement, position, program)?;
                }
            }
        }
        Ok(())
    }

    /// Adds an instruction; for one with an error a placeholder, so that jumps over it have the right distance.
    fn add(
        &mut self,
        statement: Result<(Insn, Targets<'a>)>,
        position: Position,
        program: &mut Parsed<'a>,
    ) -> Result<()> {
        let name = self.name.take();
        let (read, error) = match statement {
            Ok((insn, targets)) => (Statement { insn, targets, name, position }, Ok(())),
            Err(error) => {
                let insn = Insn::new(Op::RetK, 0);
                (Statement { insn, targets: Targets::None, name: None, position }, Err(error))
            }
        };
        program.statements.push(read);
        error
    }

    /// A number; `what` describes it in messages.
    pub(super) fn number(&mut self, what: &str) -> Result<u32> {
        self.cursor.take("+");
        let Some(Token { kind: TokenKind::Number(value), text, position }) = self.cursor.peek()
        else {
            return self.cursor.fail(what);
        };
        let wrong = match value {
            Ok(value) => {
                self.cursor.skip(1);
                return Ok(value);
            }
            Err(BadNumber::Range) => {
                "does not fit into 32 bits; the limits are -2147483648 and 4294967295"
            }
            Err(BadNumber::Digits) => {
                "is not a number (0x: hexadecimal, 0b: binary, a leading 0: octal)"
            }
        };
        Err(error(position, format!("{} {wrong}", quote(text))))
    }

    /// A number up to a limit; `what` describes it in messages.
    pub(super) fn number_up_to(&mut self, limit: u32, what: &str) -> Result<u32> {
        let position = self.cursor.position();
        match self.number(what)? {
            value if value > limit => {
                let message = format!("{value} is too large for {what}; the limit is {limit}");
                Err(error(position, message))
            }
            value => Ok(value),
        }
    }
}

/// Reserved words.
const RESERVED: &[&str] = &["next", "a", "x", "M"];
