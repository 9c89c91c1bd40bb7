//! The value of a field of an instruction.

use super::super::error::error;
use super::cursor::{Cursor, Result};
use super::expression::{Terms, expression};
use super::parameters::{Parameter, Parameters};
use crate::data::Endian;
use crate::diagnostic::Diagnostic;
use crate::lexer::{BadNumber, Token, TokenKind, quote};
use crate::symbols::{Missing, Names};

/// Reads the values of fields.
pub(super) struct Fields<'n, 't, 'a> {
    names: &'n Names,
    /// `None` while the argument of a function is read.
    pub(super) parameters: Option<Parameters<'t, 'a>>,
}

impl<'n, 't, 'a> Fields<'n, 't, 'a> {
    pub(super) fn new(names: &'n Names, tokens: &'t [Token<'a>]) -> Self {
        Fields { names, parameters: Some(Parameters::new(tokens)) }
    }

    /// The value of a field, up to its limit.
    pub(super) fn field(&mut self, cursor: &mut Cursor<'t, 'a>, name: &str) -> Result<u32> {
        let position = cursor.position();
        let limit = match name {
            "code" => u32::from(u16::MAX),
            "jt" | "jf" => u32::from(u8::MAX),
            _ => u32::MAX,
        };
        let value = expression(cursor, self)?;
        if value > limit {
            let message = format!("{value} is too large for {name}; the limit is {limit}");
            return Err(error(position, message));
        }
        Ok(value)
    }

    /// The value of a name.
    fn name(&mut self, token: Token<'a>, name: &str, is_go: bool) -> Result<u32> {
        let value = self.names.value(name, is_go).map_err(|Missing { message, help }| {
            Diagnostic::error(Some(token.position), message).help(help)
        })?;
        if let Some(value) = value {
            return Ok(value);
        }
        let definition = format!("write its value instead, or add a line `#define {name} …`");
        let parameter = self.parameters.as_mut().and_then(|known| known.find(name));
        let (message, help) = match parameter {
            Some(Parameter::Argument(argument)) => {
                let mut cursor = Cursor::new(argument, token.position);
                let mut outside = Fields { names: self.names, parameters: None };
                let value = expression(&mut cursor, &mut outside)?;
                match cursor.peek() {
                    None => return Ok(value),
                    Some(_) => return cursor.fail("the end of the argument"),
                }
            }
            Some(Parameter::Unknown { function, calls }) => (
                format!(
                    "{} is a parameter of {}, which this text calls {calls} times",
                    quote(name),
                    quote(function)
                ),
                definition,
            ),
            None => (format!("the value of {} is not known", quote(name)), definition),
        };
        Err(Diagnostic::error(Some(token.position), message).help(help))
    }

    /// `(struct seccomp_data, args[0])`.
    fn offset(&self, cursor: &mut Cursor<'_, 'a>) -> Result<u32> {
        cursor.expect('(')?;
        cursor.take_word("struct");
        while matches!(cursor.rest(), [_, colon, ..] if colon.is(':')) {
            cursor.skip(3);
        }
        if !cursor.take_word("seccomp_data") {
            return cursor.fail("`struct seccomp_data`");
        }
        cursor.expect(',')?;
        let offset = match cursor.peek().map(|token| token.text) {
            Some("nr") => 0,
            Some("arch") => 4,
            Some("instruction_pointer") => 8,
            Some("args") => 16,
            _ => return cursor.fail("nr, arch, instruction_pointer or args"),
        };
        cursor.next();
        let mut arg = 0;
        if offset == 16 && cursor.take('[') {
            arg = match cursor.peek().map(|token| token.kind) {
                Some(TokenKind::Number(Ok(arg @ 0..=5))) => arg,
                _ => return cursor.fail("the number of an argument, 0 to 5"),
            };
            cursor.next();
            cursor.expect(']')?;
        }
        cursor.expect(')')?;
        Ok(offset + 8 * arg)
    }

    /// `(__u32)`: the size of a type.
    fn size(cursor: &mut Cursor<'_, 'a>) -> Result<u32> {
        cursor.expect('(')?;
        let size = match cursor.peek().map(|token| token.text) {
            Some("__u32" | "uint32_t" | "u32" | "int" | "unsigned") => 4,
            Some("__u64" | "uint64_t" | "u64") => 8,
            _ => return cursor.fail("a type of 32 or 64 bits, such as `__u32`"),
        };
        cursor.next();
        cursor.take_word("int");
        cursor.expect(')')?;
        Ok(size)
    }

    /// The offset of an argument, as the macros of the kernel's examples compute it from the byte order.
    fn half(&self, cursor: &mut Cursor<'_, 'a>, is_high: bool) -> Result<u32> {
        cursor.expect('(')?;
        let Some(TokenKind::Number(Ok(arg @ 0..=5))) = cursor.peek().map(|token| token.kind) else {
            return cursor.fail("the number of an argument, 0 to 5");
        };
        cursor.next();
        cursor.expect(')')?;
        let is_second = is_high == (self.names.endian == Endian::Little);
        Ok(16 + 8 * arg + 4 * u32::from(is_second))
    }
}

impl<'a> Terms<'a> for Fields<'_, '_, 'a> {
    fn term(&mut self, cursor: &mut Cursor<'_, 'a>) -> Result<u32> {
        let Some(token) = cursor.peek() else { return cursor.fail("a value") };
        match token.kind {
            TokenKind::Number(Ok(value)) => {
                cursor.next();
                Ok(value)
            }
            TokenKind::Number(Err(BadNumber::Range)) => {
                let message = format!("{} does not fit into 32 bits", quote(token.text));
                Err(error(token.position, message))
            }
            TokenKind::Word => {
                let is_go = skip_path(cursor);
                let Some(token) = cursor.next() else { return cursor.fail("a name") };
                match token.text {
                    "offsetof" | "__builtin_offsetof" => return self.offset(cursor),
                    "offset_of" => {
                        cursor.take('!');
                        return self.offset(cursor);
                    }
                    "sizeof" => return Fields::size(cursor),
                    "syscall_arg" | "LO_ARG" => return self.half(cursor, false),
                    "HI_ARG" => return self.half(cursor, true),
                    _ => {}
                }
                let mut name = token.text.to_owned();
                while cursor.starts(&['#', '#']) {
                    cursor.skip(2);
                    if let Some(part) = cursor.peek().filter(is_part_of_name) {
                        name.push_str(part.text);
                        cursor.next();
                    }
                }
                if cursor.starts(&['(']) {
                    let message =
                        format!("{} is called here, but not defined in this text", quote(&name));
                    return Err(Diagnostic::error(Some(token.position), message).help(format!(
                        "write its value instead, or add its `#define {name}(…) …`"
                    )));
                }
                self.name(token, &name, is_go)
            }
            _ => cursor.fail("a number or a name"),
        }
    }
}

fn is_part_of_name(token: &Token<'_>) -> bool {
    matches!(token.kind, TokenKind::Word | TokenKind::Number(_))
}

/// Skips the path before a name, `libc::` or `unix.`; returns whether the name is one of Go's packages for syscalls.
fn skip_path(cursor: &mut Cursor<'_, '_>) -> bool {
    let mut is_go = false;
    loop {
        match cursor.rest() {
            [package, dot, name, ..] if dot.is('.') && name.kind == TokenKind::Word => {
                is_go = matches!(package.text, "unix" | "syscall");
                cursor.skip(2);
            }
            [_, first, second, name, ..]
                if first.is(':') && second.is(':') && name.kind == TokenKind::Word =>
            {
                cursor.skip(3);
            }
            _ => return is_go,
        }
    }
}
