//! Instructions: mnemonics and operands.

use super::parser::{Names, Parser, Result, Target, Targets};
use crate::diagnostic::Diagnostic;
use callgate_core::io_uring::Decision;
use callgate_core::{AncillaryWord, Insn, RawInsn, Word};

use crate::lexer::{Token, TokenKind, quote};
use crate::{io_uring_names, names};
use callgate_core::{Arch, Op, Operand, Verdict, errno_number};

/// Aliases of mnemonics, and whether their targets are swapped.
const ALIASES: &[(&str, &str, bool)] = &[
    ("jmp", "ja", false),
    ("load32", "ld", false),
    ("return", "ret", false),
    ("ldi", "ld", false),
    ("ldxi", "ldx", false),
    ("jne", "jeq", true),
    ("jneq", "jeq", true),
    ("jlt", "jge", true),
    ("jle", "jgt", true),
];

impl<'a> Parser<'_, 'a> {
    /// An instruction with its targets.
    pub(super) fn statement(&mut self) -> Result<(Insn, Targets<'a>)> {
        let Some(token @ Token { kind: TokenKind::Word, .. }) = self.peek() else {
            return Err(self.expected("an instruction or a label"));
        };
        if token.is_word(".insn") {
            self.next();
            return Ok((self.fields()?, Targets::None));
        }
        let name = token.text.to_ascii_lowercase();
        let alias = ALIASES.iter().find(|(alias, _, _)| *alias == name);
        let (name, swapped) = alias.map_or((name.as_str(), false), |&(_, name, swap)| (name, swap));
        let ops: Vec<Op> = Op::ALL.iter().copied().filter(|op| op.mnemonic() == name).collect();
        let Some(&op) = ops.first() else {
            let message = format!("{} is not an instruction", quote(token.text));
            return Err(Diagnostic::error(Some(token.position), message).help(
                "write a label with `:` after it, an instruction by its fields with `.insn`",
            ));
        };
        self.next();
        let bare_constant = matches!(alias, Some(("ldi" | "ldxi", _, _)));
        match op.operand() {
            Operand::None => Ok((Insn::new(op, 0), Targets::None)),
            Operand::Jump => Ok((Insn::new(op, 0), Targets::Jump(self.target()?))),
            Operand::BranchConstant | Operand::BranchX => self.branch(&ops, swapped),
            _ if name == "ld" && token.is_word("load32") && self.starts_number() => {
                Ok((Insn::new(Op::LdWordAbs, self.number("an offset")?), Targets::None))
            }
            _ if name == "ret" && self.starts_number() => {
                Ok((Insn::new(Op::RetK, self.number("a value")?), Targets::None))
            }
            _ if bare_constant => {
                self.take('#');
                let op = if name == "ld" { Op::LdImm } else { Op::LdxImm };
                Ok((Insn::new(op, self.number("a constant")?), Targets::None))
            }
            _ => self.operand(name, &ops).map(|insn| (insn, Targets::None)),
        }
    }

    /// The four fields of an instruction.
    fn fields(&mut self) -> Result<Insn> {
        let position = self.position();
        let code = self.number_up_to(u32::from(u16::MAX), "the code")? as u16;
        self.expect(',')?;
        let jt = self.number_up_to(u32::from(u8::MAX), "a jump distance")? as u8;
        self.expect(',')?;
        let jf = self.number_up_to(u32::from(u8::MAX), "a jump distance")? as u8;
        self.expect(',')?;
        let k = self.number("the constant")?;
        Insn::try_from(RawInsn { code, jt, jf, k })
            .map_err(|error| Diagnostic::error(position, error.to_string()))
    }

    fn branch(&mut self, ops: &[Op], swapped: bool) -> Result<(Insn, Targets<'a>)> {
        let bare = with_operand(ops, Operand::BranchConstant).filter(|_| self.starts_number());
        let (op, k) = match bare {
            Some(op) => (op, self.number("a constant")?),
            None => self.compared(ops)?,
        };
        self.expect(',')?;
        let first = self.target()?;
        let second = if self.take(',') { self.target()? } else { Target::Next };
        let (holds, fails) = if swapped { (second, first) } else { (first, second) };
        Ok((Insn::branch(op, k, 0, 0), Targets::Branch { holds, fails }))
    }

    /// The right operand of a branch, X or a constant, which selects one of `ops`.
    pub(super) fn compared(&mut self, ops: &[Op]) -> Result<(Op, u32)> {
        let (op, k) = if self.register("x") {
            (with_operand(ops, Operand::BranchX), 0)
        } else if self.starts('#') {
            (with_operand(ops, Operand::BranchConstant), self.constant()?)
        } else {
            return Err(self.expected("`#` and a constant, or `x`"));
        };
        let op = op.ok_or_else(|| self.expected("an instruction with this operand"))?;
        Ok((op, k))
    }

    fn target(&mut self) -> Result<Target<'a>> {
        self.take('@');
        let position = self.peek().map(|token| token.position);
        match (self.peek(), position) {
            (Some(token), Some(position)) if token.kind == TokenKind::Word => {
                self.next();
                Ok(if token.is_word("next") {
                    Target::Next
                } else {
                    Target::Label(token.text, position)
                })
            }
            (Some(token), Some(position))
                if token.is('+') || matches!(token.kind, TokenKind::Number(_)) =>
            {
                Ok(Target::Skip(self.number("how many instructions to skip")?, position))
            }
            _ => Err(self.expected("a label, `next` or `+` and a number")),
        }
    }

    /// The operand of an instruction without targets, which selects one of `ops`.
    pub(super) fn operand(&mut self, name: &str, ops: &[Op]) -> Result<Insn> {
        let has = |operand| with_operand(ops, operand);
        let insn = if let Some(op) = has(Operand::Length).filter(|_| self.take_named("len")) {
            Insn::new(op, 0)
        } else if let Some((op, word)) =
            has(Operand::Absolute).and_then(|op| Some((op, self.take_ancillary()?)))
        {
            Insn::new(op, word.offset())
        } else if let Some(op) = has(Operand::X).filter(|_| self.register("x")) {
            Insn::new(op, 0)
        } else if let Some(op) = has(Operand::A).filter(|_| self.register("a")) {
            Insn::new(op, 0)
        } else if let Some(op) = has(Operand::Constant).filter(|_| self.starts('#')) {
            Insn::new(op, self.constant()?)
        } else if let Some(op) = has(Operand::Scratch).filter(|_| self.take_word("M")) {
            self.expect('[')?;
            let k = self.number("the number of a scratch word")?;
            self.expect(']')?;
            Insn::new(op, k)
        } else if let Some(absolute) = has(Operand::Absolute).filter(|_| self.take('[')) {
            self.offset(absolute, has(Operand::Indexed))?
        } else if matches!(name, "ldx" | "ldxb") && self.starts_number() {
            Insn::new(Op::LdxMsh, self.header_length()?)
        } else if name == "ld" && self.starts_word() {
            Insn::new(Op::LdWordAbs, self.word_offset()?)
        } else if name == "ret" && self.starts_word() {
            Insn::new(Op::RetK, self.returned()?)
        } else {
            return Err(self.expected(&format!("an operand of `{name}`: {}", forms(name, ops))));
        };
        Ok(insn)
    }

    /// The inside of brackets: an offset, x and an offset, or the name of a word.
    fn offset(&mut self, absolute: Op, indexed: Option<Op>) -> Result<Insn> {
        let insn = if let (Some(op), true) = (indexed, self.register("x")) {
            let negative = self.peek().is_some_and(|token| token.text.starts_with('-'));
            if !negative && !self.starts('+') {
                return Err(self.expected("`+` and an offset"));
            }
            Insn::new(op, self.number("an offset")?)
        } else if absolute == Op::LdWordAbs && self.starts_word() {
            Insn::new(absolute, self.word_offset()?)
        } else {
            Insn::new(absolute, self.number("an offset")?)
        };
        self.expect(']')?;
        Ok(insn)
    }

    /// `4*([k]&0xf)`.
    fn header_length(&mut self) -> Result<u32> {
        let position = self.position();
        let factor = self.number("`4*([k]&0xf)`")?;
        for mark in ['*', '(', '['] {
            self.expect(mark)?;
        }
        let k = self.number("an offset")?;
        for mark in [']', '&'] {
            self.expect(mark)?;
        }
        let mask = self.number("the mask 0xf")?;
        self.expect(')')?;
        if (factor, mask) != (4, 0xf) {
            let message =
                format!("the kernel only computes 4*([k]&0xf), not {factor}*([k]&{mask:#x})");
            return Err(Diagnostic::error(position, message));
        }
        Ok(k)
    }

    /// The offset of a word by its name.
    fn word_offset(&mut self) -> Result<u32> {
        match self.names {
            Names::Seccomp => self.word().map(|word| word.offset(self.endian())),
            Names::IoUring => {
                let position = self.position();
                let name = self.next().map_or("", |token| token.text);
                io_uring_names::offset_of(name, self.endian()).ok_or_else(|| {
                    let message = format!("{} is not a word of io_uring_bpf_ctx", quote(name));
                    Diagnostic::error(position, message).help(
                        "the words are socket.family, socket.type, socket.protocol, and open.flags, open.mode, open.resolve \
                         and user_data with .low or .high; [8] has the opcode, sqe_flags and pdu_size",
                    )
                })
            }
        }
    }

    /// A returned value by its name.
    fn returned(&mut self) -> Result<u32> {
        if self.names == Names::Seccomp {
            return self.verdict().map(|verdict| verdict.0);
        }
        if self.take_word("ALLOW") {
            Ok(Decision::Allow.value())
        } else if self.take_word("DENY") {
            Ok(Decision::Deny.value())
        } else {
            Err(self.expected("`ALLOW` or `DENY`"))
        }
    }

    /// A word of `seccomp_data` by its name.
    fn word(&mut self) -> Result<Word> {
        let position = self.position();
        let text = self.next().map_or("", |token| token.text);
        let mut name = text.strip_prefix("data.").unwrap_or(text).to_owned();
        if name == "args" {
            self.expect('[')?;
            let arg = self.number_up_to(5, "the number of an argument")?;
            self.expect(']')?;
            name = format!("args[{arg}]");
            if let Some(half) = self.peek().filter(|half| half.text.starts_with('.')) {
                self.next();
                name.push_str(half.text);
            }
        }
        Word::all().find(|&word| names::word(word) == name).ok_or_else(|| {
            Diagnostic::error(position, format!("{} is not a word of seccomp_data", quote(&name))).help(
                "the words are nr, arch, and instruction_pointer and args[0] to args[5] with .low or .high",
            )
        })
    }

    /// `#` and a number, the name of an arch token, or another name, whose value is found later.
    fn constant(&mut self) -> Result<u32> {
        self.expect('#')?;
        match self.peek() {
            Some(token) if token.kind == TokenKind::Word => {
                self.next();
                let arch = Arch::ALL.iter().find(|arch| token.is_word(arch.audit_name()));
                if arch.is_none() {
                    self.name = Some((token.text, token.position));
                }
                Ok(arch.map_or(0, |arch| arch.token()))
            }
            _ => self.number("a number"),
        }
    }

    /// An action with its data: `ALLOW`, `ERRNO(EPERM)`, `TRACE(7)`, `UNKNOWN(0x12345678)`.
    fn verdict(&mut self) -> Result<Verdict> {
        let Some(token) = self.next() else { return Err(self.expected("an action")) };
        let unknown = token.is_word("UNKNOWN");
        let Some(verdict) = names::action(token.text).or(unknown.then_some(Verdict(0))) else {
            let message = format!("{} is not an action", quote(token.text));
            return Err(Diagnostic::error(Some(token.position), message).help(
                "the actions are KILL_PROCESS, KILL_THREAD, TRAP, ERRNO, USER_NOTIF, TRACE, LOG and \
                 ALLOW; write any other value as `#0x…`",
            ));
        };
        if !self.take('(') {
            return if unknown { Err(self.expected("`(` and the value")) } else { Ok(verdict) };
        }
        let data = match self.peek() {
            _ if unknown => self.number("the value")?,
            Some(name) if name.kind == TokenKind::Word => match errno_number(name.text) {
                Some(errno) => {
                    self.next();
                    u32::from(errno)
                }
                None => return Err(self.expected("an errno such as EPERM, or a number")),
            },
            _ => self.number_up_to(u32::from(u16::MAX), "the data of an action")?,
        };
        self.expect(')')?;
        Ok(Verdict(verdict.0 | data))
    }

    /// A register, with or without the percent sign of `bpf_asm`.
    fn register(&mut self, name: &str) -> bool {
        if matches!(self.rest(), [percent, word, ..] if percent.is('%') && word.is_word(name)) {
            self.next();
        }
        self.take_word(name)
    }

    /// A name with or without a `#` in front.
    pub(super) fn take_named(&mut self, name: &str) -> bool {
        if matches!(self.rest(), [hash, word, ..] if hash.is('#') && word.is_word(name)) {
            self.next();
        }
        self.take_word(name)
    }

    fn take_ancillary(&mut self) -> Option<AncillaryWord> {
        AncillaryWord::ALL.iter().copied().find(|word| {
            let alias = *word == AncillaryWord::VlanTagPresent && self.take_named("vlan_pr");
            alias || (!word.name().is_empty() && self.take_named(word.name()))
        })
    }

    fn starts(&self, mark: char) -> bool {
        self.peek().is_some_and(|token| token.is(mark))
    }

    fn starts_word(&self) -> bool {
        self.peek().is_some_and(|token| token.kind == TokenKind::Word)
    }

    fn starts_number(&self) -> bool {
        self.peek().is_some_and(|token| matches!(token.kind, TokenKind::Number(_)))
    }
}

fn with_operand(ops: &[Op], operand: Operand) -> Option<Op> {
    ops.iter().copied().find(|op| op.operand() == operand)
}

/// The operands of a mnemonic, for a message.
fn forms(name: &str, ops: &[Op]) -> String {
    let mut forms: Vec<&str> = Vec::new();
    for op in ops {
        forms.push(match op.operand() {
            Operand::Constant => "#k",
            Operand::X => "x",
            Operand::A => "a",
            Operand::Absolute => "[k]",
            Operand::Indexed => "[x + k]",
            Operand::Scratch => "M[n]",
            Operand::Length => "#len",
            Operand::HeaderLength => "4*([k]&0xf)",
            Operand::None | Operand::Jump | Operand::BranchConstant | Operand::BranchX => continue,
        });
    }
    match name {
        "ld" => forms.push("a word such as args[0].low"),
        "ldx" => forms.push("4*([k]&0xf)"),
        "ret" => forms.push("an action such as ALLOW"),
        _ => {}
    }
    forms.join(", ")
}
