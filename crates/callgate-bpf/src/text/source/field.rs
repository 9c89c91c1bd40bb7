//! The value of a field of an instruction.

use crate::advice::Advice;
use std::collections::HashMap;

use super::expression::{Terms, expression};
use super::integer::{Type, Value};
use super::literal::Literals;
use super::pairs::Pairs;
use super::parameters::{Parameter, Parameters};
use super::predefined::{Defined, defined};
use super::types::{Types, structure};
use crate::cursor::{Cursor, Result};
use crate::diagnostic::{Diagnostic, Position, error};
use crate::lexer::Language;
use crate::symbols::{Missing, Names};
use crate::token::{Token, TokenKind, quote};
use callgate_core::Endian;

/// The values of the enumerators and constants that a text declares; `None` for what else it declares.
pub(super) type Constants<'a> = HashMap<&'a str, Option<Value>>;

/// What the values of fields are read with.
#[derive(Clone, Copy)]
pub(super) struct Context<'n, 'a> {
    pub(super) names: &'n Names,
    pub(super) types: &'n Types<'a>,
    pub(super) literals: Literals,
    pub(super) constants: &'n Constants<'a>,
}

/// Reads the values of fields.
pub(super) struct Fields<'n, 't, 'a> {
    context: Context<'n, 'a>,
    /// `None` while the argument of a function is read.
    pub(super) parameters: Option<Parameters<'t, 'a>>,
    /// Values that are too large for their fields.
    pub(super) warnings: Vec<Diagnostic>,
    /// Whether a value has a name.
    pub(super) has_names: bool,
}

/// How many warnings are kept.
const MAX_WARNINGS: usize = 20;

impl<'n, 't, 'a> Fields<'n, 't, 'a> {
    pub(super) fn new(context: Context<'n, 'a>, pairs: &'t Pairs<'t, 'a>) -> Self {
        Fields {
            context,
            parameters: Some(Parameters::new(pairs)),
            warnings: Vec::new(),
            has_names: false,
        }
    }

    /// For expressions that have no parameters of functions.
    pub(super) fn outside(context: Context<'n, 'a>) -> Self {
        Fields { context, parameters: None, warnings: Vec::new(), has_names: false }
    }

    /// The value of a field: in C converted to its type, otherwise up to its limit.
    pub(super) fn field(&mut self, cursor: &mut Cursor<'t, 'a>, name: &str) -> Result<u32> {
        let position = cursor.position();
        let kind = match name {
            "code" => Type::new(2, 16, false),
            "jt" | "jf" | "SkipTrue" | "SkipFalse" => Type::new(1, 8, false),
            _ => Type::UNSIGNED,
        };
        let value = expression(cursor, self)?;
        let range = 1i128 << kind.bits();
        let is_large = value.number >= range || value.number < -range / 2;
        if is_large && self.language() != Language::C {
            let message =
                format!("{} is too large for {name}; the limit is {}", value.number, range - 1);
            return Err(error(position, message));
        }
        let read = value.converted(kind).number as u32;
        if is_large && self.warnings.len() < MAX_WARNINGS {
            let message = format!(
                "{} is too large for {name}, which has {} bits: compilers use {read}",
                value.number,
                kind.bits()
            );
            let help = "write the value that is meant; this is rarely intended";
            self.warnings.push(Diagnostic::warning(Some(position), message).help(help));
        }
        Ok(read)
    }

    /// The value of an expression that must not depend on the types of constants.
    pub(super) fn exact(&mut self, cursor: &mut Cursor<'_, 'a>) -> Result<Value> {
        let position = cursor.position();
        let value = expression(cursor, self)?;
        if value.is_zero().is_none() {
            return Err(error(
                position,
                "this value depends on a type that is not known".to_owned(),
            ));
        }
        Ok(value)
    }

    /// The value of tokens that are one such expression.
    pub(super) fn whole(&mut self, tokens: &[Token<'a>]) -> Option<Value> {
        let mut cursor = Cursor::new(tokens, Position::START);
        let value = self.exact(&mut cursor).ok()?;
        cursor.is_empty().then_some(value)
    }

    /// The fields up to `}`, by position or by name, whose place `place_of` reads; and their number, if none has a name.
    pub(super) fn list(
        &mut self,
        cursor: &mut Cursor<'t, 'a>,
        what: &str,
        names: &[&str],
        place_of: impl Fn(&mut Cursor<'t, 'a>) -> Result<Option<usize>>,
    ) -> Result<([Option<u32>; 4], Option<usize>)> {
        let (mut values, mut place, mut has_name) = ([None; 4], 0, false);
        while !cursor.take("}") {
            let position = cursor.position();
            if let Some(named) = place_of(cursor)? {
                (place, has_name) = (named, true);
            }
            let (Some(name), Some(value)) = (names.get(place), values.get_mut(place)) else {
                let message = format!("{what} has {} fields, found another", names.len());
                return Err(error(position, message));
            };
            *value = Some(self.field(cursor, name)?);
            place += 1;
            if !cursor.take(",") {
                cursor.expect("}")?;
                break;
            }
        }
        Ok((values, (!has_name).then_some(place)))
    }

    /// The value of a name.
    fn name(&mut self, token: Token<'a>, name: &str, is_go: bool) -> Result<Value> {
        let declared = self.context.constants.get(name);
        if let Some(Some(value)) = declared {
            return Ok(*value);
        }
        if declared.is_none() {
            let value =
                self.context.names.integer(name, is_go).map_err(|Missing { message, help }| {
                    error(token.position, message).help(help)
                })?;
            if let Some((number, is_exact)) = value {
                return Ok(self.of_headers(name, number, is_exact));
            }
            let predefined = defined(name, self.context.names, self.context.literals.model);
            if let (Defined::As(number, kind), Language::C) = (predefined, self.language()) {
                return Ok(Value::of(number, kind));
            }
        }
        let types = self.context.types;
        let parameter = self.parameters.as_mut().and_then(|known| known.find(name, types));
        let quoted = quote(name);
        let message = match parameter {
            Some(Parameter::Argument { function, argument }) if is_computed(argument) => {
                format!(
                    "{quoted} is a parameter of {}, whose argument is computed when the program runs",
                    quote(function)
                )
            }
            Some(Parameter::Argument { argument, .. }) => {
                let mut cursor = Cursor::new(argument, token.position);
                let value = expression(&mut cursor, &mut Fields::outside(self.context))?;
                return if cursor.is_empty() {
                    Ok(value)
                } else {
                    cursor.fail("the end of the argument")
                };
            }
            Some(Parameter::Unknown { function, calls: 0 }) => {
                let function = quote(function);
                format!("{quoted} is a parameter of {function}, which this text does not call")
            }
            Some(Parameter::Unknown { function, calls }) => {
                let function = quote(function);
                format!(
                    "{quoted} is a parameter of {function}, which this text calls {calls} times"
                )
            }
            None | Some(Parameter::Changed) if declared.is_some() => {
                format!("the value of {quoted}, which this text declares, is not known")
            }
            None | Some(Parameter::Changed) => format!("the value of {quoted} is not known"),
        };
        Err(error(token.position, message).help(Advice::ValueOf(name.to_owned())))
    }

    /// A constant of the headers.
    fn of_headers(&self, name: &str, number: i128, is_exact: bool) -> Value {
        let is_c = self.language() == Language::C;
        match (is_c, is_exact) {
            (false, _) => Value::untyped(number),
            (true, false) => Value::of_headers(number),
            (true, true) if Type::INT.holds(number) && !name.starts_with("SECCOMP_RET_") => {
                Value::of(number, Type::INT)
            }
            (true, true) => Value::of(number, Type::UNSIGNED),
        }
    }

    /// A number of the type of `sizeof`.
    fn size_t(&self, number: i128) -> Value {
        let model = self.context.literals.model;
        match self.language() {
            Language::C if model.is_known => Value::of(number, model.size()),
            Language::C => Value::of_headers(number),
            _ => Value::untyped(number),
        }
    }

    /// `(struct seccomp_data, args[0])`.
    fn offset(&mut self, cursor: &mut Cursor<'_, 'a>) -> Result<Value> {
        cursor.expect("(")?;
        cursor.take_word("struct");
        while matches!(cursor.rest(), [_, colon, ..] if colon.is(':')) {
            cursor.skip(3);
        }
        if !cursor.take_word("seccomp_data") {
            return cursor.fail("`struct seccomp_data`");
        }
        cursor.expect(",")?;
        let offset = self.member(cursor)?;
        cursor.expect(")")?;
        Ok(offset)
    }

    /// The offset of a member of `struct seccomp_data`.
    fn member(&mut self, cursor: &mut Cursor<'_, 'a>) -> Result<Value> {
        let position = cursor.position();
        if let Some(None) = self.context.constants.get("struct seccomp_data") {
            let message = "this text defines another `struct seccomp_data` than the kernel";
            return Err(error(position, message.to_owned()));
        }
        let offset = match cursor.peek().map(|token| token.text) {
            Some("nr") => 0,
            Some("arch") => 4,
            Some("instruction_pointer") => 8,
            Some("args") => 16,
            _ => return cursor.fail("nr, arch, instruction_pointer or args"),
        };
        cursor.next();
        let mut arg = 0;
        if offset == 16 && cursor.take("[") {
            arg = self.argument(cursor)?;
            cursor.expect("]")?;
        }
        Ok(self.size_t(offset + 8 * arg))
    }

    /// The number of an argument.
    fn argument(&mut self, cursor: &mut Cursor<'_, 'a>) -> Result<i128> {
        let start = *cursor;
        match self.exact(cursor)?.number {
            arg @ 0..=5 => Ok(arg),
            _ => start.fail("the number of an argument, 0 to 5"),
        }
    }

    /// `&((struct seccomp_data *)0)->nr`, from `&` on.
    fn address(&mut self, cursor: &mut Cursor<'_, 'a>) -> Result<Value> {
        cursor.expect("&((")?;
        cursor.take_word("struct");
        if !cursor.take_word("seccomp_data") {
            return cursor.fail("`struct seccomp_data`");
        }
        cursor.expect("*)")?;
        match cursor.peek().map(|token| token.text) {
            Some("0" | "NULL") => cursor.skip(1),
            _ => return cursor.fail("`0`"),
        }
        cursor.expect(")->")?;
        self.member(cursor)
    }

    /// `(__u32)`: the size of a type.
    fn size(&self, cursor: &mut Cursor<'_, 'a>) -> Result<Value> {
        cursor.expect("(")?;
        let known = match cursor.rest() {
            [first, name, ..] if first.text == "struct" => structure(name.text),
            _ => None,
        };
        let (size, words) = match known {
            Some((name, _)) if self.context.constants.get(name).is_some() => {
                let message = format!("this text defines {} itself", quote(name));
                return Err(error(cursor.position(), message)
                    .help("write its size in bytes instead of `sizeof`"));
            }
            Some((_, size)) => (size, 2),
            None => match self.context.types.named(cursor.rest()) {
                Some((kind, words)) => (kind.size(), words),
                None => return cursor.fail("a type of integers, such as `__u32`"),
            },
        };
        cursor.skip(words);
        cursor.expect(")")?;
        Ok(self.size_t(size))
    }

    /// The offset of an argument, as the macros of the kernel's examples compute it from the byte order.
    fn half(&mut self, cursor: &mut Cursor<'_, 'a>, is_high: bool) -> Result<Value> {
        cursor.expect("(")?;
        let arg = self.argument(cursor)?;
        cursor.expect(")")?;
        let is_second = is_high == (self.context.names.endian == Endian::Little);
        Ok(self.size_t(16 + 8 * arg + 4 * i128::from(is_second)))
    }
}

impl<'a> Terms<'a> for Fields<'_, '_, 'a> {
    fn types(&self) -> Option<&Types<'a>> {
        Some(self.context.types)
    }

    fn language(&self) -> Language {
        self.context.literals.language
    }

    fn term(&mut self, cursor: &mut Cursor<'_, 'a>) -> Result<Value> {
        let Some(token) = cursor.peek() else { return cursor.fail("a value") };
        match token.kind {
            TokenKind::Number(_) => {
                cursor.next();
                let value = self.context.literals.value(token.text);
                value.map_err(|message| {
                    error(token.position, format!("{}: {message}", quote(token.text)))
                })
            }
            TokenKind::Mark('&') => self.address(cursor),
            TokenKind::Word => {
                self.has_names = true;
                let is_go = skip_path(cursor);
                let Some(token) = cursor.next() else { return cursor.fail("a name") };
                match token.text {
                    "offsetof" | "__builtin_offsetof" => return self.offset(cursor),
                    "offset_of" => {
                        cursor.take("!");
                        return self.offset(cursor);
                    }
                    "sizeof" => return self.size(cursor),
                    "syscall_arg" | "LO_ARG" => return self.half(cursor, false),
                    "HI_ARG" => return self.half(cursor, true),
                    _ => {}
                }
                let name = token.text;
                if cursor.starts("(") {
                    let message =
                        format!("{} is called here, but not defined in this text", quote(name));
                    return Err(error(token.position, message).help(format!(
                        "write its value instead, or add its `#define {name}(…) …`"
                    )));
                }
                self.name(token, name, is_go)
            }
            _ => cursor.fail("a number or a name"),
        }
    }
}

/// Whether an argument has a call, an element or a member, whose value only the running program has.
fn is_computed(argument: &[Token<'_>]) -> bool {
    let is_call = |pair: &[Token<'_>]| {
        matches!(pair, [name, open] if name.is_name() && open.is_any("([")
            && !matches!(name.text, "sizeof" | "offsetof" | "__builtin_offsetof"))
    };
    let is_arrow = |pair: &[Token<'_>]| matches!(pair, [dash, end] if dash.is('-') && end.is('>'));
    argument.windows(2).any(|pair| is_call(pair) || is_arrow(pair))
}

/// Skips the path before a name, `libc::` or `unix.`; returns whether the name is one of Go's packages for syscalls.
fn skip_path(cursor: &mut Cursor<'_, '_>) -> bool {
    let mut is_go = false;
    loop {
        match cursor.rest() {
            [package, dot, name, ..] if dot.is('.') && name.is_name() => {
                is_go = matches!(package.text, "unix" | "syscall");
                cursor.skip(2);
            }
            [_, first, second, name, ..] if first.is(':') && second.is(':') && name.is_name() => {
                cursor.skip(3);
            }
            _ => return is_go,
        }
    }
}
