//! Listings of `tcpdump -d`: instructions with their indices in parentheses, which are the jump targets.
//!
//! ```text
//! (000) ldh      [12]
//! (001) jeq      #0x800           jt 2  jf 3
//! (002) ret      #262144
//! (003) ret      #0
//! ```
//!
//! Operands are those of `bpf_asm` and a few others: `#pktlen`, ancillary words in brackets (`[vlanp]`), and
//! `ret` without an operand, which returns A. Constants may be negative. Instructions without a name in
//! libpcap, such as `ldx #len`, are listed as `unimp` with the opcode only, so they cannot be read.
//!
//! Source: libpcap 1.10, `bpf_image.c`.

use super::parser::{Parser, Target, Targets};
use crate::cursor::Result;
use crate::diagnostic::error;
use crate::token::{Token, quote};
use callgate_core::{AncillaryWord, Insn, Op, Operand};

/// libpcap's names of ancillary words that `bpf_asm` names differently or not at all.
const WORDS: &[(&str, AncillaryWord)] = &[
    ("xor_x", AncillaryWord::AluXorX),
    ("vlanp", AncillaryWord::VlanTagPresent),
    ("random", AncillaryWord::Random),
];

impl<'a> Parser<'_, 'a> {
    /// A line number such as `(002)`.
    pub(super) fn take_line_number(&mut self) -> Option<Token<'a>> {
        match self.cursor.rest() {
            [open, number, close, ..] if open.is('(') && number.is_number() && close.is(')') => {
                self.cursor.skip(3);
                Some(*number)
            }
            _ => None,
        }
    }

    /// The instruction after a line number, up to the end of the line.
    pub(super) fn listed(&mut self) -> Result<(Insn, Targets<'a>)> {
        let statement = self.listed_instruction()?;
        if self.cursor.is_empty() { Ok(statement) } else { self.cursor.fail("the end of the line") }
    }

    fn listed_instruction(&mut self) -> Result<(Insn, Targets<'a>)> {
        let Some(token) = self.cursor.peek().filter(|token| token.is_name()) else {
            return self.cursor.fail("an instruction");
        };
        if token.text == "unimp" {
            let message = "`unimp` is an instruction that libpcap has no name for";
            return Err(error(token.position, message)
                .help("this text does not contain its fields; use the output of `tcpdump -dd`"));
        }
        let ops: Vec<Op> =
            Op::ALL.iter().copied().filter(|op| op.mnemonic() == token.text).collect();
        let Some(&op) = ops.first() else {
            let message = format!("{} is not an instruction of `tcpdump -d`", quote(token.text));
            return Err(error(token.position, message));
        };
        self.cursor.skip(1);
        match op.operand() {
            Operand::None => Ok((Insn::new(op, 0), Targets::None)),
            Operand::Jump => Ok((Insn::new(op, 0), Targets::Jump(self.line_number()?))),
            Operand::BranchConstant | Operand::BranchX => {
                let (op, k) = self.compared(&ops)?;
                let holds = self.line_after("jt")?;
                let fails = self.line_after("jf")?;
                Ok((Insn::branch(op, k, 0, 0), Targets::Branch { holds, fails }))
            }
            _ => {
                let insn = match (op, self.cursor.peek()) {
                    (Op::RetK, None) => Insn::new(Op::RetA, 0),
                    (Op::LdWordAbs, _) if self.take_named("pktlen") => Insn::new(Op::LdLen, 0),
                    (Op::LdWordAbs | Op::LdHalfAbs | Op::LdByteAbs, _) => {
                        match self.word_in_brackets() {
                            Some(word) => Insn::new(op, word.offset()),
                            None => self.operand(token.text, &ops)?,
                        }
                    }
                    _ => self.operand(token.text, &ops)?,
                };
                Ok((insn, Targets::None))
            }
        }
    }

    /// `[proto]`: an ancillary word.
    fn word_in_brackets(&mut self) -> Option<AncillaryWord> {
        let [open, name, close, ..] = self.cursor.rest() else { return None };
        if !open.is('[') || !name.is_name() || !close.is(']') {
            return None;
        }
        let own = WORDS.iter().find(|(own, _)| name.text == *own).map(|(_, word)| *word);
        let shared = || AncillaryWord::ALL.iter().copied().find(|word| word.name() == name.text);
        let word = own.or_else(shared)?;
        self.cursor.skip(3);
        Some(word)
    }

    fn line_after(&mut self, word: &str) -> Result<Target<'a>> {
        match self.cursor.take_word(word) {
            true => self.line_number(),
            false => self.cursor.fail(&format!("`{word}` and the number of a line")),
        }
    }

    fn line_number(&mut self) -> Result<Target<'a>> {
        match self.cursor.peek() {
            Some(Token { text, position, .. })
                if text.bytes().all(|byte| byte.is_ascii_digit()) =>
            {
                self.cursor.skip(1);
                Ok(Target::Line(text.parse().unwrap_or(usize::MAX), position))
            }
            _ => self.cursor.fail("the number of a line"),
        }
    }
}
