//! Listings of gVisor's `bpf.DecodeProgram`.
//!
//! ```text
//! 0: A <- P[4:4]
//! 1: pc += (A == 3221225534) ? 0 [2] : 1 [3]
//! 2: ret 2147418112
//! 3: ret 0
//! ```
//!
//! Numbers are decimal. A jump has its distance and, in brackets, its target.
//!
//! Source: gVisor, `pkg/bpf/decoder.go`.

use super::error::{error, finish};
use crate::asm::{AsmError, Errors};
use crate::diagnostic::{Diagnostic, Position};
use crate::lexer::{Token, TokenKind, quote};
use callgate_core::{Op, RawInsn};

type Result<T> = std::result::Result<T, Diagnostic>;

/// Whether a line is one of such a listing.
pub(super) fn is_line(line: &[Token<'_>]) -> bool {
    let line = match line {
        [number, colon, rest @ ..]
            if matches!(number.kind, TokenKind::Number(_)) && colon.is(':') =>
        {
            rest
        }
        line => line,
    };
    match line {
        [pc, plus, equals, ..] if pc.is_word("pc") => plus.is('+') && equals.is('='),
        [register, less, minus, ..] if register.kind == TokenKind::Word && less.is('<') => {
            minus.text.starts_with('-')
        }
        _ => false,
    }
}

/// Reads a listing.
pub(super) fn listing(tokens: &[Token<'_>]) -> std::result::Result<Vec<RawInsn>, AsmError> {
    let mut insns = Vec::new();
    let mut errors = Errors::default();
    for line in tokens.split(|token| token.kind == TokenKind::LineEnd) {
        let Some(last) = line.last() else { continue };
        let column = last.position.column + last.text.chars().count() as u32;
        let end = Position { column, ..last.position };
        let mut line = Line { rest: line, end };
        match line.read(insns.len()) {
            Ok(insn) => insns.push(insn),
            Err(error) => {
                errors.push(error);
                insns.push(RawInsn::default());
            }
        }
    }
    finish(insns, errors)
}

struct Line<'t, 'a> {
    rest: &'t [Token<'a>],
    end: Position,
}

impl Line<'_, '_> {
    fn read(&mut self, index: usize) -> Result<RawInsn> {
        if let [given, colon, rest @ ..] = self.rest {
            if colon.is(':') {
                if given.text.parse() != Ok(index) {
                    let message = format!(
                        "expected line {index} of the listing, found {}",
                        quote(given.text)
                    );
                    return Err(
                        error(given.position, message).help("lines are missing or out of order")
                    );
                }
                self.rest = rest;
            }
        }
        let insn = self.instruction(index)?;
        if self.rest.is_empty() { Ok(insn) } else { self.fail("the end of the line") }
    }

    fn instruction(&mut self, index: usize) -> Result<RawInsn> {
        if self.take_word("ret") {
            return match self.take_word("A") {
                true => Ok(insn(Op::RetA, 0)),
                false => Ok(insn(Op::RetK, self.number()?)),
            };
        }
        if self.take_word("pc") {
            self.expect(&['+', '='])?;
            return self.jump(index);
        }
        if self.take_word("M") {
            let k = self.scratch()?;
            self.expect(&['<', '-'])?;
            let op = if self.take_word("X") { Op::Stx } else { Op::St };
            if op == Op::St && !self.take_word("A") {
                return self.fail("`A` or `X`");
            }
            return Ok(insn(op, k));
        }
        let is_x = match (self.take_word("A"), self.take_word("X")) {
            (true, _) => false,
            (_, true) => true,
            _ => return self.fail("`A`, `X`, `M`, `pc` or `ret`"),
        };
        self.expect(&['<', '-'])?;
        self.value(is_x)
    }

    /// What A or X becomes.
    fn value(&mut self, is_x: bool) -> Result<RawInsn> {
        if self.take_word("len") {
            return Ok(insn(if is_x { Op::LdxLen } else { Op::LdLen }, 0));
        }
        if self.take_word("M") {
            let k = self.scratch()?;
            return Ok(insn(if is_x { Op::LdxMem } else { Op::LdMem }, k));
        }
        if is_x && self.take_word("A") {
            return Ok(insn(Op::Tax, 0));
        }
        if is_x && self.is_header_length() {
            return self.header_length();
        }
        if !is_x && self.take_word("X") {
            return Ok(insn(Op::Txa, 0));
        }
        if !is_x && self.take_word("P") {
            return self.load();
        }
        if !is_x && self.take('-') {
            return if self.take_word("A") { Ok(insn(Op::Neg, 0)) } else { self.fail("`A`") };
        }
        if !is_x && self.take_word("A") {
            return self.arithmetic();
        }
        Ok(insn(if is_x { Op::LdxImm } else { Op::LdImm }, self.number()?))
    }

    /// `[4:4]` or `[X+4:4]`: an offset and a size.
    fn load(&mut self) -> Result<RawInsn> {
        self.expect(&['['])?;
        let is_indexed = self.take_word("X");
        if is_indexed {
            self.expect(&['+'])?;
        }
        let k = self.number()?;
        self.expect(&[':'])?;
        let op = match (self.rest.first().map(|size| size.text), is_indexed) {
            (Some("4"), false) => Op::LdWordAbs,
            (Some("2"), false) => Op::LdHalfAbs,
            (Some("1"), false) => Op::LdByteAbs,
            (Some("4"), true) => Op::LdWordInd,
            (Some("2"), true) => Op::LdHalfInd,
            (Some("1"), true) => Op::LdByteInd,
            _ => return self.fail("a size: 1, 2 or 4"),
        };
        self.skip(1);
        self.expect(&[']'])?;
        Ok(insn(op, k))
    }

    fn is_header_length(&self) -> bool {
        matches!(self.rest, [four, star, ..] if four.text == "4" && star.is('*'))
    }

    /// `4*(P[14:1]&0xf)`.
    fn header_length(&mut self) -> Result<RawInsn> {
        self.skip(1);
        self.expect(&['*', '('])?;
        if !self.take_word("P") {
            return self.fail("`P`");
        }
        let k = self.load()?.k;
        self.expect(&['&'])?;
        self.number()?;
        self.expect(&[')'])?;
        Ok(insn(Op::LdxMsh, k))
    }

    /// The operator and the operand after `A <- A`.
    fn arithmetic(&mut self) -> Result<RawInsn> {
        const OPERATORS: &[(&[char], Op, Op)] = &[
            (&['+'], Op::AddK, Op::AddX),
            (&['-'], Op::SubK, Op::SubX),
            (&['*'], Op::MulK, Op::MulX),
            (&['/'], Op::DivK, Op::DivX),
            (&['|'], Op::OrK, Op::OrX),
            (&['&'], Op::AndK, Op::AndX),
            (&['<', '<'], Op::LshK, Op::LshX),
            (&['>', '>'], Op::RshK, Op::RshX),
            (&['%'], Op::ModK, Op::ModX),
            (&['^'], Op::XorK, Op::XorX),
        ];
        self.operation(OPERATORS)
    }

    /// `3 [7]`, or `(A == 5) ? 0 [2] : 1 [3]`.
    fn jump(&mut self, index: usize) -> Result<RawInsn> {
        const COMPARISONS: &[(&[char], Op, Op)] = &[
            (&['=', '='], Op::JeqK, Op::JeqX),
            (&['>', '='], Op::JgeK, Op::JgeX),
            (&['>'], Op::JgtK, Op::JgtX),
            (&['&'], Op::JsetK, Op::JsetX),
        ];
        if !self.take('(') {
            return Ok(insn(Op::Ja, self.distance(index, u32::MAX)?));
        }
        if !self.take_word("A") {
            return self.fail("`A`");
        }
        let compared = self.operation(COMPARISONS)?;
        self.expect(&[')', '?'])?;
        let jt = self.distance(index, u32::from(u8::MAX))? as u8;
        self.expect(&[':'])?;
        let jf = self.distance(index, u32::from(u8::MAX))? as u8;
        Ok(RawInsn { jt, jf, ..compared })
    }

    fn operation(&mut self, operators: &[(&[char], Op, Op)]) -> Result<RawInsn> {
        let starts = |marks: &[char]| {
            marks.len() <= self.rest.len()
                && marks.iter().zip(self.rest).all(|(mark, token)| token.is(*mark))
        };
        let Some((marks, with_k, with_x)) = operators.iter().find(|(marks, ..)| starts(marks))
        else {
            return self.fail("an operator");
        };
        self.skip(marks.len());
        match self.take_word("X") {
            true => Ok(insn(*with_x, 0)),
            false => Ok(insn(*with_k, self.number()?)),
        }
    }

    /// A distance and its target, which must agree.
    fn distance(&mut self, index: usize, limit: u32) -> Result<u32> {
        let position = self.position();
        let distance = self.number()?;
        if distance > limit {
            let message =
                format!("{distance} is too large for a jump distance; the limit is {limit}");
            return Err(error(position, message));
        }
        if self.take('[') {
            let position = self.position();
            let target = self.number()?;
            self.expect(&[']'])?;
            let due = index as u64 + 1 + u64::from(distance);
            if u64::from(target) != due {
                let message = format!(
                    "instruction {index} skips {distance} instructions to instruction {due}, not {target}"
                );
                return Err(error(position, message).help("lines are missing or changed"));
            }
        }
        Ok(distance)
    }

    fn scratch(&mut self) -> Result<u32> {
        self.expect(&['['])?;
        let k = self.number()?;
        self.expect(&[']'])?;
        Ok(k)
    }

    fn number(&mut self) -> Result<u32> {
        match self.rest.first().map(|token| token.kind) {
            Some(TokenKind::Number(Ok(value))) => {
                self.skip(1);
                Ok(value)
            }
            _ => self.fail("a number of 32 bits"),
        }
    }

    fn position(&self) -> Position {
        self.rest.first().map_or(self.end, |token| token.position)
    }

    fn skip(&mut self, tokens: usize) {
        self.rest = self.rest.get(tokens..).unwrap_or_default();
    }

    fn take(&mut self, mark: char) -> bool {
        let there = self.rest.first().is_some_and(|token| token.is(mark));
        self.skip(usize::from(there));
        there
    }

    fn take_word(&mut self, word: &str) -> bool {
        let there = self.rest.first().is_some_and(|token| token.is_word(word));
        self.skip(usize::from(there));
        there
    }

    fn expect(&mut self, marks: &[char]) -> Result<()> {
        for mark in marks {
            if !self.take(*mark) {
                return self.fail(&format!("`{mark}`"));
            }
        }
        Ok(())
    }

    fn fail<T>(&self, expected: &str) -> Result<T> {
        let message = match self.rest.first() {
            Some(token) => format!("expected {expected}, found {}", quote(token.text)),
            None => format!("expected {expected} at the end of the line"),
        };
        Err(error(self.position(), message))
    }
}

fn insn(op: Op, k: u32) -> RawInsn {
    RawInsn { code: op.code(), jt: 0, jf: 0, k }
}

#[cfg(test)]
mod tests {
    use crate::text::parse;
    use callgate_core::{Endian, RawInsn};

    const fn insn(code: u16, jt: u8, jf: u8, k: u32) -> RawInsn {
        RawInsn { code, jt, jf, k }
    }

    #[test]
    fn every_instruction_is_read() {
        let text = "\
0: A <- P[4:4]
1: pc += (A == 3221225534) ? 0 [2] : 1 [3]
2: pc += (A & X) ? 2 [5] : 0 [3]
3: A <- A >> 3
4: A <- -A
5: M[3] <- A
6: X <- M[3]
7: A <- P[X+14:2]
8: X <- 4*(P[14:1]&0xf)
9: A <- A ^ X
10: X <- A
11: A <- len
12: pc += 1 [14]
13: ret A
14: ret 2147418112
";
        let expected = [
            insn(0x20, 0, 0, 4),
            insn(0x15, 0, 1, 0xc000_003e),
            insn(0x4d, 2, 0, 0),
            insn(0x74, 0, 0, 3),
            insn(0x84, 0, 0, 0),
            insn(0x02, 0, 0, 3),
            insn(0x61, 0, 0, 3),
            insn(0x48, 0, 0, 14),
            insn(0xb1, 0, 0, 14),
            insn(0xac, 0, 0, 0),
            insn(0x07, 0, 0, 0),
            insn(0x80, 0, 0, 0),
            insn(0x05, 0, 0, 1),
            insn(0x16, 0, 0, 0),
            insn(0x06, 0, 0, 0x7fff_0000),
        ];
        assert_eq!(parse(text, Endian::Little).as_deref(), Ok(&expected[..]));
        let bare = "A <- P[0:4]\npc += (A > 5) ? 0 : 1\nX <- 7\nret 0";
        let expected =
            [insn(0x20, 0, 0, 0), insn(0x25, 0, 1, 5), insn(1, 0, 0, 7), insn(6, 0, 0, 0)];
        assert_eq!(parse(bare, Endian::Little).as_deref(), Ok(&expected[..]));
    }

    #[test]
    fn errors_have_positions() {
        for (text, message) in [
            ("0: A <- P[4:3]", "1:13: expected a size: 1, 2 or 4, found `3`"),
            ("0: A <- P[4:4]\n2: ret 0", "2:1: expected line 1 of the listing, found `2`"),
            ("0: A <- Q", "1:9: expected a number of 32 bits, found `Q`"),
            ("0: A <- A ~ 3", "1:11: expected an operator, found `~`"),
            ("0: pc += 1 [3]", "1:13: instruction 0 skips 1 instructions to instruction 2, not 3"),
            (
                "0: pc += (A == 1) ? 256 [257] : 0 [1]",
                "1:21: 256 is too large for a jump distance; the limit is 255",
            ),
            ("0: A <- 1 2", "1:11: expected the end of the line, found `2`"),
            ("0: A <- len\n1: M[1] <- P", "2:12: expected `A` or `X`, found `P`"),
            ("0: A <-", "1:8: expected a number of 32 bits at the end of the line"),
        ] {
            let error = parse(text, Endian::Little).unwrap_err();
            assert_eq!(error.diagnostics()[0].to_string(), message, "{text}");
        }
    }
}
