//! Instructions in source code: rows of `tcpdump -dd`, arrays in C, Rust and Go.
//!
//! This does not parse those languages: it finds the rows of an array and ignores the code around it. A row is `{ code, jt, jf, k }`, the same with field names, or one of the
//! kernel's macros; a field is numbers and the kernel's constants, joined by `|` or `+`.

use super::error::{error, finish};
use crate::asm::{AsmError, Errors};
use crate::diagnostic::{Diagnostic, Position};
use crate::disasm::CODE_PARTS;
use crate::insn::RawInsn;
use crate::lexer::{BadNumber, Flavour, Token, TokenKind, quote, tokens};
use crate::names;
use crate::syscalls::Arch;
use crate::verdict::errno_number;

type Result<T> = std::result::Result<T, Diagnostic>;

/// The fields of a row, in order.
const FIELDS: [&str; 4] = ["code", "jt", "jf", "k"];

/// Reads all rows.
pub(super) fn rows(text: &str) -> std::result::Result<Vec<RawInsn>, AsmError> {
    let mut tokens = tokens(text, Flavour::Source)?;
    let end = tokens.last().map_or(Position { line: 1, column: 1 }, |last| last.position);
    tokens.retain(|token| token.kind != TokenKind::LineEnd);
    let mut reader = Reader { rest: &tokens, end, depth: 0 };
    let mut insns = Vec::new();
    let mut errors = Errors::default();
    // Every iteration consumes a token or ends the loop.
    loop {
        match reader.next_row() {
            Ok(Some(insn)) => insns.push(insn),
            Ok(None) => break,
            Err(error) => {
                let at_end = reader.peek().is_none();
                // After an error, an unclosed brace at the end is a consequence of it.
                if !at_end || errors.is_empty() {
                    errors.push(error);
                }
                if at_end {
                    break;
                }
                reader.skip_row();
            }
        }
    }
    if insns.is_empty() && errors.is_empty() {
        errors.push(Diagnostic::error(None, "the text contains no instructions").help(
            "rows look like `{ 0x06, 0, 0, 0x7fff0000 },` or `BPF_STMT(BPF_RET | BPF_K, 0),`",
        ));
    }
    finish(insns, errors)
}

struct Reader<'t, 'a> {
    rest: &'t [Token<'a>],
    end: Position,
    /// The number of open braces around the rows.
    depth: usize,
}

impl<'a> Reader<'_, 'a> {
    /// The next row; `None` at the end of the text.
    fn next_row(&mut self) -> Result<Option<RawInsn>> {
        while let Some(token) = self.peek() {
            if token.is_word("BPF_STMT") || token.is_word("BPF_JUMP") {
                self.next();
                return self.syscall(token.is_word("BPF_JUMP")).map(Some);
            }
            self.next();
            match token.kind {
                TokenKind::Mark('{') if self.starts_row() => return self.literal().map(Some),
                TokenKind::Mark('{') if self.starts_other_struct() => self.skip_braces()?,
                TokenKind::Mark('{') => self.depth += 1,
                TokenKind::Mark('}') => {
                    self.depth = self.depth.checked_sub(1).ok_or_else(|| {
                        error(token.position, "`}` without a `{` before it".to_owned())
                    })?;
                }
                TokenKind::Word => {}
                TokenKind::Mark(',' | ';' | '.' | ':' | '&' | '[' | ']') => {}
                _ if self.depth == 0 => {}
                _ => {
                    let message = format!("expected an instruction, found {}", quote(token.text));
                    return Err(error(token.position, message));
                }
            }
        }
        if self.depth > 0 {
            return self.fail("`}`");
        }
        Ok(None)
    }

    /// Whether an open brace begins an instruction.
    fn starts_row(&self) -> bool {
        match self.rest {
            [first, ..] if matches!(first.kind, TokenKind::Number(_)) || first.is('(') => true,
            [dot, name, ..] if dot.is('.') => field_index(name.text).is_some(),
            [name, colon, ..] if colon.is(':') => field_index(name.text).is_some(),
            [name, ..] => {
                name.text.starts_with("BPF_") && !matches!(name.text, "BPF_STMT" | "BPF_JUMP")
            }
            [] => false,
        }
    }

    /// Whether an open brace begins a structure with other fields, such as `struct sock_fprog`.
    fn starts_other_struct(&self) -> bool {
        match self.rest {
            [dot, ..] if dot.is('.') => true,
            [name, colon, after, ..] => {
                name.kind == TokenKind::Word && colon.is(':') && !after.is(':')
            }
            _ => false,
        }
    }

    fn skip_braces(&mut self) -> Result<()> {
        let mut open = 1usize;
        while open > 0 {
            match self.next() {
                Some(token) if token.is('{') => open += 1,
                Some(token) if token.is('}') => open -= 1,
                Some(_) => {}
                None => return self.fail("`}`"),
            }
        }
        Ok(())
    }

    /// Skips to the end of the row, after an error.
    fn skip_row(&mut self) {
        while let Some(token) = self.peek() {
            if token.is('{')
                || token.text.starts_with("BPF_STMT")
                || token.text.starts_with("BPF_JUMP")
            {
                return;
            }
            self.next();
            if token.is('}') {
                return;
            }
        }
    }

    /// The arguments of `BPF_STMT(code, k)` or `BPF_JUMP(code, k, jt, jf)`.
    fn syscall(&mut self, jump: bool) -> Result<RawInsn> {
        self.expect('(')?;
        let code = self.field("code")?;
        self.expect(',')?;
        let k = self.field("k")?;
        let (mut jt, mut jf) = (0, 0);
        if jump {
            self.expect(',')?;
            jt = self.field("jt")?;
            self.expect(',')?;
            jf = self.field("jf")?;
        }
        self.expect(')')?;
        Ok(RawInsn { code: code as u16, jt: jt as u8, jf: jf as u8, k })
    }

    /// The fields between braces, by position or by name.
    fn literal(&mut self) -> Result<RawInsn> {
        let mut values = [None; FIELDS.len()];
        let mut by_name = false;
        let mut place = 0;
        let start = self.position();
        while !self.take('}') {
            let position = self.position();
            if let Some(named) = self.field_name() {
                by_name = true;
                place = named;
            }
            let (Some(name), Some(value)) = (FIELDS.get(place), values.get_mut(place)) else {
                let message = format!("an instruction has {} fields, found another", FIELDS.len());
                return Err(error(position, message));
            };
            *value = Some(self.field(name)?);
            place += 1;
            if !self.take(',') {
                self.expect('}')?;
                break;
            }
        }
        if !by_name && place < FIELDS.len() {
            let message = format!("an instruction has {} fields, found {place}", FIELDS.len());
            return Err(error(start, message));
        }
        let [code, jt, jf, k] = values.map(Option::unwrap_or_default);
        Ok(RawInsn { code: code as u16, jt: jt as u8, jf: jf as u8, k })
    }

    /// `.code =` in C, `code:` in Rust, `Code:` in Go.
    fn field_name(&mut self) -> Option<usize> {
        let (name, length) = match self.rest {
            [dot, name, equals, ..] if dot.is('.') && equals.is('=') => (name, 3),
            [name, colon, ..] if colon.is(':') => (name, 2),
            _ => return None,
        };
        let place = field_index(name.text)?;
        self.rest = self.rest.get(length..).unwrap_or_default();
        Some(place)
    }

    /// The value of a field, up to its limit.
    fn field(&mut self, name: &str) -> Result<u32> {
        let position = self.position();
        let limit = match name {
            "code" => u32::from(u16::MAX),
            "k" => u32::MAX,
            _ => u32::from(u8::MAX),
        };
        let mut value = 0u32;
        let mut open = 0usize;
        let mut add = false;
        loop {
            while self.take('(') {
                open += 1;
            }
            let term = self.term()?;
            value = if add { value.wrapping_add(term) } else { value | term };
            while open > 0 && self.take(')') {
                open -= 1;
            }
            add = self.take('+');
            if !add && !self.take('|') {
                break;
            }
        }
        if open > 0 {
            self.expect(')')?;
        }
        if value > limit {
            let message = format!("{value} is too large for {name}; the limit is {limit}");
            return Err(error(position, message));
        }
        Ok(value)
    }

    fn term(&mut self) -> Result<u32> {
        let Some(token) = self.peek() else { return self.fail("a number") };
        let value = match token.kind {
            TokenKind::Number(Ok(value)) => Some(value),
            TokenKind::Number(Err(BadNumber::Range)) => {
                let message = format!("{} does not fit into 32 bits", quote(token.text));
                return Err(error(token.position, message));
            }
            TokenKind::Word if token.text == "offsetof" => {
                self.next();
                return self.offset();
            }
            TokenKind::Word => constant(token.text),
            _ => None,
        };
        let Some(value) = value else {
            return self.fail(
                "a number or a constant of the kernel (`BPF_…`, `SECCOMP_RET_…`, `AUDIT_ARCH_…`)",
            );
        };
        self.next();
        Ok(value)
    }

    /// `offsetof(struct seccomp_data, args[0])`.
    fn offset(&mut self) -> Result<u32> {
        self.expect('(')?;
        for word in ["struct", "seccomp_data"] {
            if !self.peek().is_some_and(|token| token.is_word(word)) {
                return self.fail(&format!("`{word}`"));
            }
            self.next();
        }
        self.expect(',')?;
        let offset = match self.peek().map(|token| token.text) {
            Some("nr") => 0,
            Some("arch") => 4,
            Some("instruction_pointer") => 8,
            Some("args") => 16,
            _ => return self.fail("nr, arch, instruction_pointer or args"),
        };
        self.next();
        let mut arg = 0;
        if offset == 16 && self.take('[') {
            arg = match self.peek().map(|token| token.kind) {
                Some(TokenKind::Number(Ok(arg @ 0..=5))) => arg,
                _ => return self.fail("the number of an argument, 0 to 5"),
            };
            self.next();
            self.expect(']')?;
        }
        self.expect(')')?;
        Ok(offset + 8 * arg)
    }

    fn peek(&self) -> Option<Token<'a>> {
        self.rest.first().copied()
    }

    fn next(&mut self) -> Option<Token<'a>> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    fn position(&self) -> Position {
        self.peek().map_or(self.end, |token| token.position)
    }

    fn take(&mut self, mark: char) -> bool {
        let there = self.peek().is_some_and(|token| token.is(mark));
        if there {
            self.next();
        }
        there
    }

    fn expect(&mut self, mark: char) -> Result<()> {
        if self.take(mark) { Ok(()) } else { self.fail(&format!("`{mark}`")) }
    }

    fn fail<T>(&self, expected: &str) -> Result<T> {
        let found = match self.peek() {
            Some(token) => format!(", found {}", quote(token.text)),
            None => " before the end of the text".to_owned(),
        };
        Err(error(self.position(), format!("expected {expected}{found}")))
    }
}

fn field_index(name: &str) -> Option<usize> {
    FIELDS.iter().position(|field| field.eq_ignore_ascii_case(name))
}

/// A constant of the kernel's headers.
fn constant(name: &str) -> Option<u32> {
    let part = CODE_PARTS.iter().find(|part| part.name == name).map(|part| u32::from(part.bits));
    let action = || name.starts_with("SECCOMP_RET_").then(|| names::action(name)).flatten();
    let arch = || Arch::ALL.iter().find(|arch| arch.audit_name() == name);
    part.or_else(|| action().map(|verdict| verdict.0))
        .or_else(|| arch().map(|arch| arch.token()))
        .or_else(|| errno_number(name).map(u32::from))
}

#[cfg(test)]
mod tests;
