//! The assembly of seccomp-tools: statements instead of mnemonics.
//!
//! ```text
//! A = arch                       # becomes  ld arch
//! A == ARCH_X86_64 ? next : dead #          jeq #AUDIT_ARCH_X86_64, next, dead
//! A = args[0] >> 32              #          ld args[0].high
//! if (!(A & 0xc0de)) goto 2      #          jset #0xc0de, next, +2
//! dead: return ERRNO(5)          # dead:    ret ERRNO(5)
//! ```
//!
//! Each statement becomes the tokens of an instruction of [`asm`](crate::asm), with the positions of the statement. So labels,
//! distances and the names of syscalls are those of the assembler. A number after `goto` is a label if the text has it, as in
//! listings with `--asm-able`; otherwise it is how many instructions are skipped.
//!
//! Source: the documentation of seccomp-tools (`README.md`).

use std::collections::BTreeSet;

use crate::asm::{AsmError, Errors};
use crate::cursor::{Cursor, Result};
use crate::diagnostic::{Position, error};
use crate::lexer::tokens;
use crate::token::{Token, TokenKind};
use crate::{SyscallTable, names};
use callgate_core::{Arch, Word};

/// Names of architectures.
pub(crate) const ARCHES: &[(&str, &str)] = &[
    ("ARCH_X86_64", "AUDIT_ARCH_X86_64"),
    ("ARCH_I386", "AUDIT_ARCH_I386"),
    ("ARCH_AARCH64", "AUDIT_ARCH_AARCH64"),
    ("ARCH_RISCV64", "AUDIT_ARCH_RISCV64"),
    ("ARCH_S390X", "AUDIT_ARCH_S390X"),
];

/// Names of architectures before the name of a syscall: `aarch64.openat`.
const PREFIXES: &[(&str, Arch)] = &[
    ("amd64", Arch::X86_64),
    ("i386", Arch::X86),
    ("aarch64", Arch::Aarch64),
    ("riscv64", Arch::Riscv64),
    ("s390x", Arch::S390x),
];

/// The words with which statements begin.
const BEGINNINGS: [&str; 10] =
    ["A", "X", "mem", "return", "goto", "jump", "jmp", "if", "else", ".insn"];

/// Operators of assignments such as `A += 1`, and their mnemonics.
const OPERATORS: &[(&str, &str)] = &[
    ("+=", "add"),
    ("-=", "sub"),
    ("*=", "mul"),
    ("/=", "div"),
    ("&=", "and"),
    ("|=", "or"),
    ("^=", "xor"),
    ("<<=", "lsh"),
    (">>=", "rsh"),
];

/// Comparisons, and their mnemonics. Longer ones come first.
const COMPARISONS: &[(&str, &str)] = &[
    ("==", "jeq"),
    ("!=", "jne"),
    (">=", "jge"),
    ("<=", "jle"),
    (">", "jgt"),
    ("<", "jlt"),
    ("&", "jset"),
];

/// Whether a text has a statement `A = …`, or only lines that begin as statements do.
pub(super) fn is_text(assembly: &[Token<'_>]) -> bool {
    let lines = assembly.split(Token::is_line_end).map(|line| match line {
        [_, colon, rest @ ..] if colon.is(':') => rest,
        line => line,
    });
    let is_assignment = |line: &[Token<'_>]| matches!(line, [a, equals, next, ..] if a.is_word("A") && equals.is('=') && !next.is('='));
    // A program need not load anything.
    let mut others = lines.clone().filter_map(<[Token<'_>]>::first).filter(|token| !token.is('#'));
    let is_beginning = |token: &Token<'_>| BEGINNINGS.iter().any(|word| token.is_word(word));
    let is_statement = |line: &[Token<'_>]| match line {
        // gVisor's listings have `A <- P[4:4]`.
        [a, mark, next, ..] if a.is_word("A") => !(mark.is('<') && next.is('-')),
        [first, ..] => ["X", "mem", "return"].iter().any(|word| first.is_word(word)),
        [] => false,
    };
    lines.clone().any(is_assignment) || lines.clone().any(is_statement) && others.all(is_beginning)
}

/// The same program in the syntax of the assembler.
pub(super) fn to_assembly<'a>(assembly: &[Token<'a>]) -> Result<Vec<Token<'a>>, AsmError> {
    // Line ends separate nothing.
    let lines = assembly.split(Token::is_line_end);
    let code = lines.flat_map(|line| line.iter().take_while(|token| !token.is('#')));
    let text: Vec<Token<'a>> = code.copied().collect();
    let end = assembly.last().map_or(Position::START, |last| last.position);
    let labels = labels(&text);
    let mut reader = Reader { cursor: Cursor::new(&text, end), labels, out: Vec::new() };
    let mut errors = Errors::default();
    while !reader.cursor.is_empty() {
        if let Err(error) = reader.statement() {
            errors.push(error);
            // Continues after the line of the next token.
            let line = reader.cursor.position().line;
            let rest = reader.cursor.rest().iter();
            let length = rest.take_while(|token| token.position.line == line).count();
            reader.cursor.skip(length);
        }
    }
    errors.check().map(|()| reader.out)
}

/// The labels at the beginning of statements: what is before a `:`, except the first target of a `?`.
fn labels<'a>(text: &[Token<'a>]) -> BTreeSet<&'a str> {
    let mut labels = BTreeSet::new();
    let mut is_target = false;
    for pair in text.windows(2) {
        let [label, colon] = pair else { continue };
        if colon.is(':') && !is_target {
            labels.insert(label.text);
        }
        is_target = label.is('?');
    }
    labels
}

struct Reader<'t, 'a> {
    cursor: Cursor<'t, 'a>,
    /// The labels of the text.
    labels: BTreeSet<&'a str>,
    out: Vec<Token<'a>>,
}

impl<'a> Reader<'_, 'a> {
    /// A label, or an instruction. Consumes a token.
    fn statement(&mut self) -> Result<()> {
        let position = self.cursor.position();
        if let [label, colon, ..] = self.cursor.rest() {
            if colon.is(':') && !matches!(label.kind, TokenKind::Mark(_)) {
                self.cursor.skip(2);
                self.out.extend([Token { kind: TokenKind::Word, ..*label }, *colon]);
                return Ok(());
            }
        }
        if self.cursor.take_word("return") {
            self.word("ret", position);
            self.returned()?;
        } else if self.takes_jump() {
            self.word("ja", position);
            let target = self.target()?;
            self.out.push(target);
        } else if self.cursor.take_word("if") {
            self.branch(position)?;
        } else if self.cursor.peek().is_some_and(|token| token.is_word(".insn")) {
            // Instructions that no statement can express.
            let line = position.line;
            let rest = self.cursor.rest();
            let length = rest.iter().take_while(|token| token.position.line == line).count();
            self.out.extend(rest.iter().take(length));
            self.cursor.skip(length);
        } else if self.cursor.take_word("mem") {
            let start = self.out.len();
            self.scratch()?;
            self.cursor.expect("=")?;
            let is_x = self.cursor.take_word("X");
            if !is_x && !self.cursor.take_word("A") {
                return self.cursor.fail("`A` or `X`");
            }
            self.out.insert(start, word(if is_x { "stx" } else { "st" }, position));
        } else if self.cursor.take_word("X") {
            self.cursor.expect("=")?;
            self.value_of_x(position)?;
        } else if self.cursor.take_word("A") {
            self.of_a(position)?;
        } else {
            return self
                .cursor
                .fail("a statement such as `A = sys_number`, `if`, `goto` or `return`");
        }
        let position = self.cursor.position();
        self.out.push(Token { kind: TokenKind::LineEnd, text: "\n", position });
        Ok(())
    }

    /// What begins with A: an assignment, or a comparison with `?`.
    fn of_a(&mut self, position: Position) -> Result<()> {
        if self.cursor.starts("=") && !self.cursor.starts("==") {
            self.cursor.skip(1);
            return self.value_of_a(position);
        }
        if let Some((_, mnemonic)) = OPERATORS.iter().find(|(marks, _)| self.cursor.take(marks)) {
            self.word(mnemonic, position);
            return self.operand();
        }
        self.comparison(position)?;
        self.cursor.expect("?")?;
        let holds = self.target()?;
        self.cursor.expect(":")?;
        let fails = self.target()?;
        self.targets([holds, fails], position);
        Ok(())
    }

    /// `if (condition) goto …`, perhaps with `else goto …`.
    fn branch(&mut self, position: Position) -> Result<()> {
        self.cursor.expect("(")?;
        let (mut is_negated, mut nested) = (false, 0);
        loop {
            // `!` needs parentheses, because `!A & 1` would be `(!A) & 1` in other languages.
            if self.cursor.take("!") {
                is_negated = !is_negated;
                self.cursor.expect("(")?;
            } else if !self.cursor.take("(") {
                break;
            }
            nested += 1;
        }
        self.cursor.expect_word("A")?;
        self.comparison(position)?;
        for _ in 0..nested {
            self.cursor.expect(")")?;
        }
        self.cursor.expect(")")?;
        self.expect_jump()?;
        let target = self.target()?;
        let other = match self.cursor.take_word("else") {
            true => {
                self.expect_jump()?;
                self.target()?
            }
            false => word("next", position),
        };
        self.targets(if is_negated { [other, target] } else { [target, other] }, position);
        Ok(())
    }

    /// The mnemonic and the operand of a comparison with A.
    fn comparison(&mut self, position: Position) -> Result<()> {
        let found = COMPARISONS.iter().find(|(marks, _)| self.cursor.take(marks));
        let Some((_, mnemonic)) = found else { return self.cursor.fail("a comparison") };
        self.word(mnemonic, position);
        self.operand()
    }

    fn targets(&mut self, targets: [Token<'a>; 2], position: Position) {
        for target in targets {
            self.out.extend([mark(',', ",", position), target]);
        }
    }

    fn value_of_x(&mut self, position: Position) -> Result<()> {
        if self.cursor.take_word("A") {
            self.word("tax", position);
            return Ok(());
        }
        self.word("ldx", position);
        self.value(position)
    }

    fn value_of_a(&mut self, position: Position) -> Result<()> {
        if self.cursor.take("-") {
            self.cursor.expect_word("A")?;
            self.word("neg", position);
            return Ok(());
        }
        if self.cursor.take_word("X") {
            self.word("txa", position);
            return Ok(());
        }
        self.word("ld", position);
        if self.cursor.take_word("sys_number") {
            self.word("nr", position);
        } else if self.cursor.take_word("arch") {
            self.word("arch", position);
        } else if self.cursor.take_word("instruction_pointer") {
            return self.half([Some(Word::IP_LOW), Some(Word::IP_HIGH)], position);
        } else if self.cursor.take_word("args_h") {
            self.cursor.expect("[")?;
            let index = self.number("the index of an argument, 0 to 5", 6)?;
            self.cursor.expect("]")?;
            let halves = [Word::arg_high(index as u8), Word::arg_low(index as u8)];
            return self.half(halves, position);
        } else if self.cursor.take_word("args") {
            self.cursor.expect("[")?;
            let index = self.number("the index of an argument, 0 to 5", 6)?;
            self.cursor.expect("]")?;
            let halves = [Word::arg_low(index as u8), Word::arg_high(index as u8)];
            return self.half(halves, position);
        } else if self.cursor.take_word("data") {
            self.cursor.expect("[")?;
            let offset = self.cursor.peek();
            self.number("an offset", 64)?;
            self.cursor.expect("]")?;
            self.out.push(mark('[', "[", position));
            self.out.extend(offset);
            self.out.push(mark(']', "]", position));
        } else {
            return self.value(position);
        }
        Ok(())
    }

    /// What A as well as X may become.
    fn value(&mut self, position: Position) -> Result<()> {
        if self.cursor.take_word("mem") {
            return self.scratch();
        }
        if self.cursor.take_word("len") {
            self.word("len", position);
            return Ok(());
        }
        self.operand()
    }

    /// One half of a field: the high one with `>> 32`.
    fn half(&mut self, [low, high]: [Option<Word>; 2], position: Position) -> Result<()> {
        let is_high = self.cursor.take(">>");
        if is_high && self.number("32", 33)? != 32 {
            return Err(error(position, "only `>> 32` selects a half"));
        }
        let half = if is_high { high } else { low };
        let name = tokens(half.map_or("", names::word))?;
        let name = name.into_iter().filter(|token| !token.is_line_end());
        self.out.extend(name.map(|token| Token { position, ..token }));
        Ok(())
    }

    /// `goto`, which may also be `jump` or `jmp`.
    fn takes_jump(&mut self) -> bool {
        ["goto", "jump", "jmp"].into_iter().any(|word| self.cursor.take_word(word))
    }

    fn expect_jump(&mut self) -> Result<()> {
        if self.takes_jump() { Ok(()) } else { self.cursor.fail("`goto`") }
    }

    /// X, or a constant, perhaps in parentheses.
    fn operand(&mut self) -> Result<()> {
        let mut open = 0;
        while self.cursor.take("(") {
            open += 1;
        }
        self.plain_operand()?;
        for _ in 0..open {
            self.cursor.expect(")")?;
        }
        Ok(())
    }

    fn plain_operand(&mut self) -> Result<()> {
        let position = self.cursor.position();
        if self.cursor.take_word("X") {
            self.word("x", position);
            return Ok(());
        }
        let is_negative = self.cursor.take("-");
        let Some(token) = self.cursor.peek() else { return self.cursor.fail("a value") };
        let token = match token.kind {
            TokenKind::Number(Ok(value)) if is_negative => {
                Token { kind: TokenKind::Number(Ok(value.wrapping_neg())), ..token }
            }
            TokenKind::Number(_) if !is_negative => token,
            TokenKind::Word if !is_negative => constant(token),
            _ => return self.cursor.fail("a number, a name or `X`"),
        };
        self.cursor.skip(1);
        self.out.extend([mark('#', "#", position), token]);
        Ok(())
    }

    /// The operand of `return`.
    fn returned(&mut self) -> Result<()> {
        let Some(token) = self.cursor.peek() else { return self.cursor.fail("an action") };
        if token.is_number() {
            self.out.push(mark('#', "#", token.position));
        } else if !token.is_name() {
            return self.cursor.fail("an action, a number or `A`");
        }
        self.cursor.skip(1);
        self.out.push(token);
        if self.cursor.starts("(") {
            let rest = self.cursor.rest();
            let length = rest.iter().take_while(|token| !token.is(')')).count() + 1;
            self.out.extend(rest.iter().take(length));
            self.cursor.skip(length);
        }
        Ok(())
    }

    /// `[n]` after `mem`, as a word of the scratch memory.
    fn scratch(&mut self) -> Result<()> {
        self.word("M", self.cursor.position());
        self.out.extend(self.cursor.rest().iter().take(3));
        self.cursor.expect("[")?;
        self.number("the number of a word, 0 to 15", 16)?;
        self.cursor.expect("]")
    }

    /// The target of a jump.
    fn target(&mut self) -> Result<Token<'a>> {
        let target = match self.cursor.peek() {
            Some(token) if token.is_number() && self.labels.contains(token.text) => {
                Token { kind: TokenKind::Word, ..token }
            }
            Some(token) if token.is_number() || token.is_name() => token,
            _ => return self.cursor.fail("a label"),
        };
        self.cursor.skip(1);
        Ok(target)
    }

    /// Adds a word of the assembler.
    fn word(&mut self, text: &'static str, position: Position) {
        self.out.push(word(text, position));
    }

    /// A number below a limit.
    fn number(&mut self, what: &str, limit: u32) -> Result<u32> {
        match self.cursor.peek().map(|token| token.kind) {
            Some(TokenKind::Number(Ok(value))) if value < limit => {
                self.cursor.skip(1);
                Ok(value)
            }
            _ => self.cursor.fail(what),
        }
    }
}

fn word(text: &'static str, position: Position) -> Token<'static> {
    Token { kind: TokenKind::Word, text, position }
}

fn mark(mark: char, text: &'static str, position: Position) -> Token<'static> {
    Token { kind: TokenKind::Mark(mark), text, position }
}

/// The token of a constant with the assembler's name of it.
fn constant(token: Token<'_>) -> Token<'_> {
    if let Some((_, text)) = ARCHES.iter().find(|(name, _)| token.is_word(name)) {
        return Token { text, ..token };
    }
    let of_arch = token.text.split_once('.').and_then(|(prefix, name)| {
        let (_, arch) = PREFIXES.iter().find(|(own, _)| *own == prefix)?;
        arch.number(name)
    });
    if let Some(number) = of_arch {
        return Token { kind: TokenKind::Number(Ok(number)), ..token };
    }
    let x32 = token.text.strip_prefix("x32_").and_then(|name| Arch::X32.number(name));
    match x32 {
        Some(number) => Token { kind: TokenKind::Number(Ok(number)), ..token },
        None => token,
    }
}

#[cfg(test)]
mod tests;
