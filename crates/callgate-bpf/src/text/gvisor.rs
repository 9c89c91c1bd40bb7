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

use crate::asm::{AsmError, Errors};
use crate::cursor::{Cursor, Result};
use crate::diagnostic::error;
use crate::token::{Token, TokenKind, quote, starts};
use callgate_core::{Op, RawInsn};

/// Whether a line is one of such a listing.
pub(super) fn is_line(line: &[Token<'_>]) -> bool {
    let line = match line {
        [number, colon, rest @ ..] if number.is_number() && colon.is(':') => rest,
        line => line,
    };
    match line {
        [pc, rest @ ..] if pc.is_word("pc") => starts(rest, "+="),
        [register, less, minus, ..] if register.is_name() && less.is('<') => {
            minus.text.starts_with('-')
        }
        _ => false,
    }
}

/// Reads a listing.
pub(super) fn listing(tokens: &[Token<'_>]) -> Result<Vec<RawInsn>, AsmError> {
    let mut insns = Vec::new();
    let mut errors = Errors::default();
    for line in tokens.split(Token::is_line_end).filter(|line| !line.is_empty()) {
        let read = read(&mut Cursor::of_line(line), insns.len());
        insns.push(read.unwrap_or_else(|error| {
            errors.push(error);
            RawInsn::default()
        }));
    }
    errors.check().map(|()| insns)
}

fn read(line: &mut Cursor<'_, '_>, index: usize) -> Result<RawInsn> {
    if let [given, colon, ..] = line.rest() {
        if colon.is(':') {
            if given.text.parse() != Ok(index) {
                let message =
                    format!("expected line {index} of the listing, found {}", quote(given.text));
                return Err(
                    error(given.position, message).help("lines are missing or out of order")
                );
            }
            line.skip(2);
        }
    }
    let insn = instruction(line, index)?;
    if line.is_empty() { Ok(insn) } else { line.fail("the end of the line") }
}

fn instruction(line: &mut Cursor<'_, '_>, index: usize) -> Result<RawInsn> {
    if line.take_word("ret") {
        return match line.take_word("A") {
            true => insn(Op::RetA, 0),
            false => insn(Op::RetK, number(line)?),
        };
    }
    if line.take_word("pc") {
        line.expect("+=")?;
        return jump(line, index);
    }
    if line.take_word("M") {
        let k = scratch(line)?;
        line.expect("<-")?;
        let op = if line.take_word("X") { Op::Stx } else { Op::St };
        if op == Op::St && !line.take_word("A") {
            return line.fail("`A` or `X`");
        }
        return insn(op, k);
    }
    let is_a = line.take_word("A");
    if !is_a && !line.take_word("X") {
        return line.fail("`A`, `X`, `M`, `pc` or `ret`");
    }
    line.expect("<-")?;
    if is_a { value_of_a(line) } else { value_of_x(line) }
}

/// What A becomes.
fn value_of_a(line: &mut Cursor<'_, '_>) -> Result<RawInsn> {
    if line.take_word("len") {
        insn(Op::LdLen, 0)
    } else if line.take_word("M") {
        insn(Op::LdMem, scratch(line)?)
    } else if line.take_word("X") {
        insn(Op::Txa, 0)
    } else if line.take_word("P") {
        load(line)
    } else if line.take("-") {
        line.expect_word("A")?;
        insn(Op::Neg, 0)
    } else if line.take_word("A") {
        arithmetic(line)
    } else {
        insn(Op::LdImm, number(line)?)
    }
}

/// What X becomes.
fn value_of_x(line: &mut Cursor<'_, '_>) -> Result<RawInsn> {
    if line.take_word("len") {
        insn(Op::LdxLen, 0)
    } else if line.take_word("M") {
        insn(Op::LdxMem, scratch(line)?)
    } else if line.take_word("A") {
        insn(Op::Tax, 0)
    } else if matches!(line.rest(), [four, star, ..] if four.text == "4" && star.is('*')) {
        // `4*(P[14:1]&0xf)`
        line.skip(1);
        line.expect("*(")?;
        line.expect_word("P")?;
        let k = load(line)?.k;
        line.expect("&")?;
        number(line)?;
        line.expect(")")?;
        insn(Op::LdxMsh, k)
    } else {
        insn(Op::LdxImm, number(line)?)
    }
}

/// `[4:4]` or `[X+4:4]`: an offset and a size.
fn load(line: &mut Cursor<'_, '_>) -> Result<RawInsn> {
    line.expect("[")?;
    let is_indexed = line.take_word("X");
    if is_indexed {
        line.expect("+")?;
    }
    let k = number(line)?;
    line.expect(":")?;
    let op = match (line.peek().map(|size| size.text), is_indexed) {
        (Some("4"), false) => Op::LdWordAbs,
        (Some("2"), false) => Op::LdHalfAbs,
        (Some("1"), false) => Op::LdByteAbs,
        (Some("4"), true) => Op::LdWordInd,
        (Some("2"), true) => Op::LdHalfInd,
        (Some("1"), true) => Op::LdByteInd,
        _ => return line.fail("a size: 1, 2 or 4"),
    };
    line.skip(1);
    line.expect("]")?;
    insn(op, k)
}

/// The operator and the operand after `A <- A`.
fn arithmetic(line: &mut Cursor<'_, '_>) -> Result<RawInsn> {
    const OPERATORS: &[(&str, Op, Op)] = &[
        ("+", Op::AddK, Op::AddX),
        ("-", Op::SubK, Op::SubX),
        ("*", Op::MulK, Op::MulX),
        ("/", Op::DivK, Op::DivX),
        ("|", Op::OrK, Op::OrX),
        ("&", Op::AndK, Op::AndX),
        ("<<", Op::LshK, Op::LshX),
        (">>", Op::RshK, Op::RshX),
        ("%", Op::ModK, Op::ModX),
        ("^", Op::XorK, Op::XorX),
    ];
    operation(line, OPERATORS)
}

/// `3 [7]`, or `(A == 5) ? 0 [2] : 1 [3]`.
fn jump(line: &mut Cursor<'_, '_>, index: usize) -> Result<RawInsn> {
    const COMPARISONS: &[(&str, Op, Op)] = &[
        ("==", Op::JeqK, Op::JeqX),
        (">=", Op::JgeK, Op::JgeX),
        (">", Op::JgtK, Op::JgtX),
        ("&", Op::JsetK, Op::JsetX),
    ];
    if !line.take("(") {
        return insn(Op::Ja, distance(line, index, u32::MAX)?);
    }
    line.expect_word("A")?;
    let compared = operation(line, COMPARISONS)?;
    line.expect(")?")?;
    let jt = distance(line, index, u32::from(u8::MAX))? as u8;
    line.expect(":")?;
    let jf = distance(line, index, u32::from(u8::MAX))? as u8;
    Ok(RawInsn { jt, jf, ..compared })
}

fn operation(line: &mut Cursor<'_, '_>, operators: &[(&str, Op, Op)]) -> Result<RawInsn> {
    let found = operators.iter().find(|(marks, ..)| line.take(marks));
    let Some((_, with_k, with_x)) = found else { return line.fail("an operator") };
    match line.take_word("X") {
        true => insn(*with_x, 0),
        false => insn(*with_k, number(line)?),
    }
}

/// A distance and its target, which must agree.
fn distance(line: &mut Cursor<'_, '_>, index: usize, limit: u32) -> Result<u32> {
    let position = line.position();
    let distance = number(line)?;
    if distance > limit {
        let message = format!("{distance} is too large for a jump distance; the limit is {limit}");
        return Err(error(position, message));
    }
    if line.take("[") {
        let position = line.position();
        let target = number(line)?;
        line.expect("]")?;
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

fn scratch(line: &mut Cursor<'_, '_>) -> Result<u32> {
    line.expect("[")?;
    let k = number(line)?;
    line.expect("]")?;
    Ok(k)
}

fn number(line: &mut Cursor<'_, '_>) -> Result<u32> {
    match line.peek().map(|token| token.kind) {
        Some(TokenKind::Number(Ok(value))) => {
            line.skip(1);
            Ok(value)
        }
        _ => line.fail("a number of 32 bits"),
    }
}

fn insn(op: Op, k: u32) -> Result<RawInsn> {
    Ok(RawInsn { code: op.code(), jt: 0, jf: 0, k })
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
