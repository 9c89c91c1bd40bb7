//! Instructions: mnemonics and operands.

use super::parser::{Names, Parser, Target, Targets};
use crate::cursor::Result;
use crate::diagnostic::error;
use crate::names;
use crate::token::quote;
use callgate_core::io_uring::Decision;
use callgate_core::{AncillaryWord, Arch, Insn, Op, Operand, RawInsn, Verdict, Word, errno_number};

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
        let Some(token) = self.cursor.peek().filter(|token| token.is_name()) else {
            return self.cursor.fail("an instruction or a label");
        };
        if token.is_word(".insn") {
            self.cursor.skip(1);
            return Ok((self.fields()?, Targets::None));
        }
        let name = token.text.to_ascii_lowercase();
        let alias = ALIASES.iter().find(|(alias, _, _)| *alias == name);
        let (name, swapped) = alias.map_or((name.as_str(), false), |&(_, name, swap)| (name, swap));
        let ops: Vec<Op> = Op::ALL.iter().copied().filter(|op| op.mnemonic() == name).collect();
        let Some(&op) = ops.first() else {
            let message = format!("{} is not an instruction", quote(token.text));
            return Err(error(token.position, message).help(
                "write a label with `:` after it, an instruction by its fields with `.insn`",
            ));
        };
        self.cursor.skip(1);
        let bare_constant = matches!(alias, Some(("ldi" | "ldxi", _, _)));
        match op.operand() {
            Operand::None => Ok((Insn::new(op, 0), Targets::None)),
            Operand::Jump => Ok((Insn::new(op, 0), Targets::Jump(self.target()?))),
            Operand::BranchConstant | Operand::BranchX => self.branch(&ops, swapped),
            _ if name == "ld" && token.is_word("load32") && self.cursor.starts_number() => {
                Ok((Insn::new(Op::LdWordAbs, self.number("an offset")?), Targets::None))
            }
            _ if name == "ret" && self.cursor.starts_number() => {
                Ok((Insn::new(Op::RetK, self.number("a value")?), Targets::None))
            }
            _ if bare_constant => {
                self.cursor.take("#");
                let op = if name == "ld" { Op::LdImm } else { Op::LdxImm };
                Ok((Insn::new(op, self.number("a constant")?), Targets::None))
            }
            _ => self.operand(name, &ops).map(|insn| (insn, Targets::None)),
        }
    }

    /// The four fields of an instruction.
    fn fields(&mut self) -> Result<Insn> {
        let position = self.cursor.position();
        let code = self.number_up_to(u32::from(u16::MAX), "the code")? as u16;
        self.cursor.expect(",")?;
        let jt = self.number_up_to(u32::from(u8::MAX), "a jump distance")? as u8;
        self.cursor.expect(",")?;
        let jf = self.number_up_to(u32::from(u8::MAX), "a jump distance")? as u8;
        self.cursor.expect(",")?;
        let k = self.number("the constant")?;
        Insn::try_from(RawInsn { code, jt, jf, k })
            .map_err(|wrong| error(position, wrong.to_string()))
    }

    fn branch(&mut self, ops: &[Op], swapped: bool) -> Result<(Insn, Targets<'a>)> {
        let bare =
            with_operand(ops, Operand::BranchConstant).filter(|_| self.cursor.starts_number());
        let (op, k) = match bare {
            Some(op) => (op, self.number("a constant")?),
            None => self.compared(ops)?,
        };
        self.cursor.expect(",")?;
        let first = self.target()?;
        let second = if self.cursor.take(",") { self.target()? } else { Target::Next };
        let (holds, fails) = if swapped { (second, first) } else { (first, second) };
        Ok((Insn::branch(op, k, 0, 0), Targets::Branch { holds, fails }))
    }

    /// The right operand of a branch, X or a constant, which selects one of `ops`.
    pub(super) fn compared(&mut self, ops: &[Op]) -> Result<(Op, u32)> {
        let (op, k) = if self.register("x") {
            (with_operand(ops, Operand::BranchX), 0)
        } else if self.cursor.starts("#") {
            (with_operand(ops, Operand::BranchConstant), self.constant()?)
        } else {
            return self.cursor.fail("`#` and a constant, or `x`");
        };
        let op = op.ok_or_else(|| self.cursor.expected("an instruction with this operand"))?;
        Ok((op, k))
    }

    fn target(&mut self) -> Result<Target<'a>> {
        self.cursor.take("@");
        let position = self.cursor.position();
        match self.cursor.peek() {
            _ if self.cursor.take_word("next") => Ok(Target::Next),
            Some(token) if token.is_name() => {
                self.cursor.skip(1);
                Ok(Target::Label(token.text, position))
            }
            Some(token) if token.is('+') || token.is_number() => {
                Ok(Target::Skip(self.number("how many instructions to skip")?, position))
            }
            _ => self.cursor.fail("a label, `next` or `+` and a number"),
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
        } else if let Some(op) = has(Operand::Constant).filter(|_| self.cursor.starts("#")) {
            Insn::new(op, self.constant()?)
        } else if let Some(op) = has(Operand::Scratch).filter(|_| self.cursor.take_word("M")) {
            self.cursor.expect("[")?;
            let k = self.number("the number of a scratch word")?;
            self.cursor.expect("]")?;
            Insn::new(op, k)
        } else if let Some(absolute) = has(Operand::Absolute).filter(|_| self.cursor.take("[")) {
            self.offset(absolute, has(Operand::Indexed))?
        } else if matches!(name, "ldx" | "ldxb") && self.cursor.starts_number() {
            Insn::new(Op::LdxMsh, self.header_length()?)
        } else if name == "ld" && self.cursor.starts_name() {
            Insn::new(Op::LdWordAbs, self.word_offset()?)
        } else if name == "ret" && self.cursor.starts_name() {
            Insn::new(Op::RetK, self.returned()?)
        } else {
            return self.cursor.fail(&format!("an operand of `{name}`: {}", forms(name, ops)));
        };
        Ok(insn)
    }

    /// The inside of brackets: an offset, x and an offset, or the name of a word.
    fn offset(&mut self, absolute: Op, indexed: Option<Op>) -> Result<Insn> {
        let insn = if let (Some(op), true) = (indexed, self.register("x")) {
            let negative = self.cursor.peek().is_some_and(|token| token.text.starts_with('-'));
            if !negative && !self.cursor.starts("+") {
                return self.cursor.fail("`+` and an offset");
            }
            Insn::new(op, self.number("an offset")?)
        } else if absolute == Op::LdWordAbs && self.cursor.starts_name() {
            Insn::new(absolute, self.word_offset()?)
        } else {
            Insn::new(absolute, self.number("an offset")?)
        };
        self.cursor.expect("]")?;
        Ok(insn)
    }

    /// `4*([k]&0xf)`.
    fn header_length(&mut self) -> Result<u32> {
        let position = self.cursor.position();
        let factor = self.number("`4*([k]&0xf)`")?;
        self.cursor.expect("*([")?;
        let k = self.number("an offset")?;
        self.cursor.expect("]&")?;
        let mask = self.number("the mask 0xf")?;
        self.cursor.expect(")")?;
        if (factor, mask) != (4, 0xf) {
            let message =
                format!("the kernel only computes 4*([k]&0xf), not {factor}*([k]&{mask:#x})");
            return Err(error(position, message));
        }
        Ok(k)
    }

    /// The offset of a word by its name.
    fn word_offset(&mut self) -> Result<u32> {
        match self.names {
            Names::Seccomp => self.word().map(|word| word.offset(self.endian)),
            Names::IoUring => {
                let position = self.cursor.position();
                let name = self.cursor.next().map_or("", |token| token.text);
                names::offset_of_request(name, self.endian).ok_or_else(|| {
                    let message = format!("{} is not a word of io_uring_bpf_ctx", quote(name));
                    error(position, message).help(
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
        if self.cursor.take_word("ALLOW") {
            Ok(Decision::Allow.value())
        } else if self.cursor.take_word("DENY") {
            Ok(Decision::Deny.value())
        } else {
            self.cursor.fail("`ALLOW` or `DENY`")
        }
    }

    /// A word of `seccomp_data` by its name.
    fn word(&mut self) -> Result<Word> {
        let position = self.cursor.position();
        let text = self.cursor.next().map_or("", |token| token.text);
        let mut name = text.strip_prefix("data.").unwrap_or(text).to_owned();
        if name == "args" {
            self.cursor.expect("[")?;
            let arg = self.number_up_to(5, "the number of an argument")?;
            self.cursor.expect("]")?;
            name = format!("args[{arg}]");
            if let Some(half) = self.cursor.peek().filter(|half| half.text.starts_with('.')) {
                self.cursor.skip(1);
                name.push_str(half.text);
            }
        }
        Word::all().find(|&word| names::word(word) == name).ok_or_else(|| {
            error(position, format!("{} is not a word of seccomp_data", quote(&name))).help(
                "the words are nr, arch, and instruction_pointer and args[0] to args[5] with .low or .high",
            )
        })
    }

    /// `#` and a number, the name of an arch token, or another name, whose value is found later.
    fn constant(&mut self) -> Result<u32> {
        self.cursor.expect("#")?;
        match self.cursor.peek() {
            Some(token) if token.is_name() => {
                self.cursor.skip(1);
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
        let Some(token) = self.cursor.next() else { return self.cursor.fail("an action") };
        let unknown = token.is_word("UNKNOWN");
        let Some(verdict) = names::action(token.text).or(unknown.then_some(Verdict(0))) else {
            let message = format!("{} is not an action", quote(token.text));
            return Err(error(token.position, message).help(
                "the actions are KILL_PROCESS, KILL_THREAD, TRAP, ERRNO, USER_NOTIF, TRACE, LOG and \
                 ALLOW; write any other value as `#0x…`",
            ));
        };
        if !self.cursor.take("(") {
            return if unknown { self.cursor.fail("`(` and the value") } else { Ok(verdict) };
        }
        let data = match self.cursor.peek() {
            _ if unknown => self.number("the value")?,
            Some(name) if name.is_name() => match errno_number(name.text) {
                Some(errno) => {
                    self.cursor.skip(1);
                    u32::from(errno)
                }
                None => return self.cursor.fail("an errno such as EPERM, or a number"),
            },
            _ => self.number_up_to(u32::from(u16::MAX), "the data of an action")?,
        };
        self.cursor.expect(")")?;
        Ok(Verdict(verdict.0 | data))
    }

    /// A register, with or without the percent sign of `bpf_asm`.
    fn register(&mut self, name: &str) -> bool {
        self.take_marked('%', name)
    }

    /// A name with or without a `#` in front.
    pub(super) fn take_named(&mut self, name: &str) -> bool {
        self.take_marked('#', name)
    }

    fn take_marked(&mut self, mark: char, name: &str) -> bool {
        let is_marked = matches!(self.cursor.rest(), [first, word, ..]
            if first.is(mark) && word.is_word(name));
        self.cursor.skip(usize::from(is_marked));
        self.cursor.take_word(name)
    }

    fn take_ancillary(&mut self) -> Option<AncillaryWord> {
        AncillaryWord::ALL.iter().copied().find(|word| {
            let alias = *word == AncillaryWord::VlanTagPresent && self.take_named("vlan_pr");
            alias || (!word.name().is_empty() && self.take_named(word.name()))
        })
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
