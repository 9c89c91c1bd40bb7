//! Expressions: operators and parentheses around terms, with the precedence and the integers of the language.

use super::integer::{Binary, Sure, Type, Value};
use super::types::Types;
use crate::cursor::{Cursor, Result};
use crate::diagnostic::error;
use crate::lexer::Language;

/// How deep parentheses and operators may be nested.
const MAX_DEPTH: u32 = 50;

/// Reads a term: a number or a name.
pub(super) trait Terms<'a> {
    fn term(&mut self, cursor: &mut Cursor<'_, 'a>) -> Result<Value>;

    /// The types of casts; `None` if there are no casts, in conditions of the preprocessor.
    fn types(&self) -> Option<&Types<'a>>;

    fn language(&self) -> Language;

    /// The type of truth values.
    fn int(&self) -> Type {
        match self.types() {
            Some(_) => Type::INT,
            None => Type::LONG_LONG,
        }
    }
}

/// The characters of binary operators, longer ones first, and how tightly they bind in C, Rust and Go; 0 in a language that
/// does not have them.
pub(super) const OPERATORS: &[(&str, Binary, [u32; 3])] = &[
    ("||", Binary::Or, [1, 0, 0]),
    ("&&", Binary::And, [2, 0, 0]),
    ("==", Binary::Equal, [6, 0, 0]),
    ("!=", Binary::NotEqual, [6, 0, 0]),
    ("<<", Binary::ShiftLeft, [8, 4, 2]),
    (">>", Binary::ShiftRight, [8, 4, 2]),
    ("<=", Binary::LessEqual, [7, 0, 0]),
    (">=", Binary::GreaterEqual, [7, 0, 0]),
    ("&^", Binary::BitClear, [0, 0, 2]),
    ("<", Binary::Less, [7, 0, 0]),
    (">", Binary::Greater, [7, 0, 0]),
    ("|", Binary::BitOr, [3, 1, 1]),
    ("^", Binary::BitXor, [4, 2, 1]),
    ("&", Binary::BitAnd, [5, 3, 2]),
    ("+", Binary::Add, [9, 5, 1]),
    ("-", Binary::Subtract, [9, 5, 1]),
    ("*", Binary::Multiply, [10, 6, 2]),
    ("/", Binary::Divide, [10, 6, 2]),
    ("%", Binary::Remainder, [10, 6, 2]),
];

/// Reads an expression.
pub(super) fn expression<'a>(
    cursor: &mut Cursor<'_, 'a>,
    terms: &mut impl Terms<'a>,
) -> Result<Value> {
    Parser { cursor, terms, is_skipped: false }.conditional(0)
}

/// A parser; its recursion ends at [`MAX_DEPTH`].
struct Parser<'p, 't, 'a, T> {
    cursor: &'p mut Cursor<'t, 'a>,
    terms: &'p mut T,
    /// Whether the value of what is read does not matter: after `0 &&` and `1 ||`.
    is_skipped: bool,
}

impl<'a, T: Terms<'a>> Parser<'_, '_, 'a, T> {
    /// `a ? b : c`, or what binds more tightly.
    fn conditional(&mut self, depth: u32) -> Result<Value> {
        let condition = self.binary(0, depth)?;
        let position = self.cursor.position();
        if self.terms.language() != Language::C || !self.cursor.take("?") {
            return Ok(condition);
        }
        let holds = self.conditional(depth + 1)?;
        self.cursor.expect(":")?;
        let fails = self.conditional(depth + 1)?;
        // The common type of both is that of their sum.
        let zero = |value: Value| Value { number: 0, sure: Sure::Yes, ..value };
        let int = self.terms.int();
        let sum = zero(holds).apply(Binary::Add, zero(fails), int);
        let kind = sum.map_err(|message| error(position, message))?.kind;
        let chosen = match condition.is_zero() {
            Some(true) => fails,
            Some(false) => holds,
            None if condition.sure == Sure::No => return Ok(Value::unknown()),
            None => return Err(error(position, "this condition depends on a type")),
        };
        Ok(kind.map_or(chosen, |kind| {
            let is_sure = holds.sure.max(fails.sure) == Sure::Yes;
            let chosen = Value { sure: if is_sure { Sure::Yes } else { Sure::Low }, ..chosen };
            chosen.converted_to_wider(kind)
        }))
    }

    /// The operand on the right of an operator of this level, and everything that binds more tightly.
    fn binary(&mut self, least: u32, depth: u32) -> Result<Value> {
        self.check(depth)?;
        let language = self.terms.language();
        let mut value = self.cast(depth)?;
        loop {
            let found = OPERATORS.iter().find_map(|(marks, operator, levels)| {
                let level = match language {
                    Language::C | Language::Assembly => levels[0],
                    Language::Rust => levels[1],
                    Language::Go => levels[2],
                };
                (level > 0 && self.cursor.starts(marks)).then_some((marks, *operator, level))
            });
            let Some((marks, operator, level)) = found.filter(|found| found.2 > least) else {
                return Ok(value);
            };
            let position = self.cursor.position();
            self.cursor.skip(marks.len());
            let was_skipped = self.is_skipped;
            let decides = match operator {
                Binary::Or => value.is_zero() == Some(false),
                Binary::And => value.is_zero() == Some(true),
                _ => false,
            };
            self.is_skipped |= decides;
            let other = self.binary(level, depth + 1)?;
            self.is_skipped = was_skipped;
            let applied = match language {
                Language::C => value.apply(operator, other, self.terms.int()),
                _ => value.apply_untyped(operator, other),
            };
            value = match applied {
                Ok(value) => value,
                Err(_) if self.is_skipped => Value::of(0, self.terms.int()),
                Err(message) => return Err(error(position, message)),
            };
        }
    }

    fn check(&self, depth: u32) -> Result<()> {
        if depth > MAX_DEPTH {
            let message =
                format!("this expression is nested more than {MAX_DEPTH} times, the limit");
            return Err(error(self.cursor.position(), message));
        }
        Ok(())
    }

    /// A value with the conversions of Rust after it: `x as u32`.
    fn cast(&mut self, depth: u32) -> Result<Value> {
        let mut value = self.unary(depth)?;
        while self.terms.language() == Language::Rust && self.cursor.take_word("as") {
            while matches!(self.cursor.rest(), [_, first, second, ..] if first.is(':') && second.is(':'))
            {
                self.cursor.skip(3);
            }
            value = match self.type_here() {
                Some((kind, words)) => {
                    self.cursor.skip(words);
                    value.converted(kind)
                }
                None => return self.cursor.fail("the name of a type of integers"),
            };
        }
        Ok(value)
    }

    fn unary(&mut self, depth: u32) -> Result<Value> {
        self.check(depth)?;
        let language = self.terms.language();
        if let Some((kind, length, is_call)) = self.conversion() {
            let position = self.cursor.position();
            self.cursor.skip(length);
            let value = match is_call {
                false => self.unary(depth + 1)?,
                true => {
                    self.cursor.expect("(")?;
                    let value = self.conditional(depth + 1)?;
                    self.cursor.expect(")")?;
                    value
                }
            };
            // `u32::from` and conversions of constants in Go keep the value.
            if language != Language::C && !kind.holds(value.number) {
                return Err(error(position, "the value does not fit into this type"));
            }
            return Ok(value.converted(kind));
        }
        let complement = match language {
            Language::C | Language::Assembly => "~",
            Language::Rust => "!",
            Language::Go => "^",
        };
        if self.cursor.take(complement) {
            let value = self.unary(depth + 1)?;
            return Ok(if language == Language::C {
                value.negated(true)
            } else {
                value.complement()
            });
        }
        if language == Language::C && self.cursor.take("!") {
            let int = self.terms.int();
            return Ok(self.unary(depth + 1)?.not(int));
        }
        if self.cursor.take("-") {
            return Ok(self.unary(depth + 1)?.negated(false));
        }
        if self.cursor.take("+") {
            return Ok(self.unary(depth + 1)?.negated(true).negated(true));
        }
        if self.cursor.take("(") {
            let value = self.conditional(depth + 1)?;
            self.cursor.expect(")")?;
            return Ok(value);
        }
        self.terms.term(self.cursor)
    }

    /// The type whose name begins here, and its words.
    fn type_here(&self) -> Option<(Type, usize)> {
        self.terms.types()?.named(self.cursor.rest())
    }

    /// The type of a conversion that begins here, the number of its tokens, and whether it is written like a call:
    /// `(unsigned int)`, `uint32(…)`, `u32::from(…)`.
    fn conversion(&self) -> Option<(Type, usize, bool)> {
        let types = self.terms.types()?;
        let rest = self.cursor.rest();
        let is_c = self.terms.language() == Language::C;
        match rest {
            [open, inside @ ..] if open.is('(') && is_c => {
                let (kind, words) = types.named(inside)?;
                inside.get(words)?.is(')').then_some((kind, words + 2, false))
            }
            [name, open, ..] if !is_c && open.is('(') && name.is_name() => {
                Some((types.named(rest.get(..1)?)?.0, 1, true))
            }
            [name, first, second, from, open, ..]
                if first.is(':')
                    && second.is(':')
                    && from.text == "from"
                    && open.is('(')
                    && !is_c =>
            {
                Some((types.named(std::slice::from_ref(name))?.0, 4, true))
            }
            _ => None,
        }
    }
}
