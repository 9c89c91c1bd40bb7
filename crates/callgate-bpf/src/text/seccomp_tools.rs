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

use crate::SyscallTable;
use std::collections::BTreeSet;

use super::error::error;
use crate::asm::{AsmError, Errors};
use crate::diagnostic::{Diagnostic, Position};
use crate::lexer::{Flavour, Token, TokenKind, quote, tokens};
use callgate_core::Arch;

type Result<T> = std::result::Result<T, Diagnostic>;

/// Names of architectures.
const ARCHES: &[(&str, &str)] = &[
    ("ARCH_X86_64", "AUDIT_ARCH_X86_64"),
    ("ARCH_I386", "AUDIT_ARCH_I386"),
    ("ARCH_AARCH64", "AUDIT_ARCH_AARCH64"),
    ("ARCH_S390X", "AUDIT_ARCH_S390X"),
];

/// The low and the high half of each argument.
const ARGS: [(&str, &str); 6] = [
    ("args[0].low", "args[0].high"),
    ("args[1].low", "args[1].high"),
    ("args[2].low", "args[2].high"),
    ("args[3].low", "args[3].high"),
    ("args[4].low", "args[4].high"),
    ("args[5].low", "args[5].high"),
];

/// Operators of assignments such as `A += 1`, and their mnemonics.
const OPERATORS: &[(&[char], &str)] = &[
    (&['+'], "add"),
    (&['-'], "sub"),
    (&['*'], "mul"),
    (&['/'], "div"),
    (&['&'], "and"),
    (&['|'], "or"),
    (&['^'], "xor"),
    (&['<', '<'], "lsh"),
    (&['>', '>'], "rsh"),
];

/// Comparisons, and their mnemonics. Longer ones come first.
const COMPARISONS: &[(&[char], &str)] = &[
    (&['=', '='], "jeq"),
    (&['!', '='], "jne"),
    (&['>', '='], "jge"),
    (&['<', '='], "jle"),
    (&['>'], "jgt"),
    (&['<'], "jlt"),
    (&['&'], "jset"),
];

/// Whether a text has a statement `A = …`.
pub(super) fn is_text(assembly: &[Token<'_>]) -> bool {
    let mut lines = assembly.split(|token| token.kind == TokenKind::LineEnd);
    lines.any(|line| {
        let line = match line {
            [_, colon, rest @ ..] if colon.is(':') => rest,
            line => line,
        };
        matches!(line, [a, equals, next, ..] if a.is_word("A") && equals.is('=') && !next.is('='))
    })
}

/// The same program in the syntax of the assembler.
pub(super) fn to_assembly<'a>(
    assembly: &[Token<'a>],
) -> std::result::Result<Vec<Token<'a>>, AsmError> {
    let text = without_comments(assembly);
    let labels = labels(&text);
    let end = assembly.last().map_or(Position { line: 1, column: 1 }, |last| last.position);
    let mut reader = Reader { rest: &text, end, labels, out: Vec::new() };
    let mut errors = Errors::default();
    while !reader.rest.is_empty() {
        if let Err(error) = reader.statement() {
            errors.push(error);
            reader.skip_line();
        }
    }
    errors.check().map(|()| reader.out)
}

/// The tokens without line ends, which separate nothing, and without comments.
fn without_comments<'a>(assembly: &[Token<'a>]) -> Vec<Token<'a>> {
    let lines = assembly.split(|token| token.kind == TokenKind::LineEnd);
    let code = lines.flat_map(|line| line.iter().take_while(|token| !token.is('#')));
    code.copied().collect()
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
    rest: &'t [Token<'a>],
    end: Position,
    /// The labels of the text.
    labels: BTreeSet<&'a str>,
    out: Vec<Token<'a>>,
}

impl<'a> Reader<'_, 'a> {
    /// A label, or an instruction. Consumes a token.
    fn statement(&mut self) -> Result<()> {
        let position = self.position();
        if let [label, colon, rest @ ..] = self.rest {
            if colon.is(':') && !matches!(label.kind, TokenKind::Mark(_)) {
                self.rest = rest;
                self.out.push(Token { kind: TokenKind::Word, ..*label });
                self.out.push(*colon);
                return Ok(());
            }
        }
        if self.take_word("return") {
            self.word("ret", position);
            self.returned()?;
        } else if self.take_word("goto") {
            self.word("ja", position);
            let target = self.target()?;
            self.out.extend(target);
        } else if self.take_word("if") {
            self.branch(position)?;
        } else if self.take_word("mem") {
            let place = self.scratch()?;
            self.expect('=')?;
            let is_x = self.take_word("X");
            if !is_x && !self.take_word("A") {
                return Err(self.expected("`A` or `X`"));
            }
            self.word(if is_x { "stx" } else { "st" }, position);
            self.out.extend(place);
        } else if self.take_word("X") {
            self.expect('=')?;
            self.value("ldx", position)?;
        } else if self.take_word("A") {
            self.of_a(position)?;
        } else {
            return Err(
                self.expected("a statement such as `A = sys_number`, `if`, `goto` or `return`")
            );
        }
        self.out.push(Token { kind: TokenKind::LineEnd, text: "\n", position: self.position() });
        Ok(())
    }

    /// What begins with A: an assignment, or a comparison with `?`.
    fn of_a(&mut self, position: Position) -> Result<()> {
        let is_assignment =
            matches!(self.rest, [equals, next, ..] if equals.is('=') && !next.is('='));
        if is_assignment {
            self.expect('=')?;
            return self.value("ld", position);
        }
        for (marks, mnemonic) in OPERATORS {
            if self.starts(marks) && self.rest.get(marks.len()).is_some_and(|next| next.is('=')) {
                self.skip(marks.len() + 1);
                self.word(mnemonic, position);
                let operand = self.operand()?;
                self.out.extend(operand);
                return Ok(());
            }
        }
        let compared = self.comparison(position)?;
        self.expect('?')?;
        let holds = self.target()?;
        self.expect(':')?;
        let fails = self.target()?;
        self.jump(compared, holds, fails, position);
        Ok(())
    }

    /// `if (condition) goto …`, perhaps with `else goto …`.
    fn branch(&mut self, position: Position) -> Result<()> {
        self.expect('(')?;
        let is_negated = self.take('!');
        // `!` needs parentheses, because `!A & 1` would be `(!A) & 1` in other languages.
        if is_negated && !self.starts(&['(']) {
            return Err(self.expected("`(`"));
        }
        let is_nested = self.take('(');
        if !self.take_word("A") {
            return Err(self.expected("`A`"));
        }
        let compared = self.comparison(position)?;
        for _ in 0..1 + usize::from(is_nested) {
            self.expect(')')?;
        }
        self.expect_goto()?;
        let target = self.target()?;
        let other = match self.take_word("else") {
            true => {
                self.expect_goto()?;
                self.target()?
            }
            false => vec![Token { kind: TokenKind::Word, text: "next", position }],
        };
        match is_negated {
            true => self.jump(compared, other, target, position),
            false => self.jump(compared, target, other, position),
        }
        Ok(())
    }

    fn expect_goto(&mut self) -> Result<()> {
        if self.take_word("goto") { Ok(()) } else { Err(self.expected("`goto`")) }
    }

    /// The mnemonic and the operand of a comparison with A.
    fn comparison(&mut self, position: Position) -> Result<Vec<Token<'a>>> {
        let found = COMPARISONS.iter().find(|(marks, _)| self.starts(marks));
        let (marks, mnemonic) = found.ok_or_else(|| self.expected("a comparison"))?;
        self.skip(marks.len());
        let mut compared = vec![Token { kind: TokenKind::Word, text: mnemonic, position }];
        compared.extend(self.operand()?);
        Ok(compared)
    }

    fn jump(
        &mut self,
        compared: Vec<Token<'a>>,
        holds: Vec<Token<'a>>,
        fails: Vec<Token<'a>>,
        position: Position,
    ) {
        let comma = Token { kind: TokenKind::Mark(','), text: ",", position };
        self.out.extend(compared);
        for target in [holds, fails] {
            self.out.push(comma);
            self.out.extend(target);
        }
    }

    /// What A (`ld`) or X (`ldx`) becomes.
    fn value(&mut self, mnemonic: &'static str, position: Position) -> Result<()> {
        let is_a = mnemonic == "ld";
        if is_a && self.starts(&['-']) {
            self.skip(1);
            if !self.take_word("A") {
                return Err(self.expected("`A`"));
            }
            self.word("neg", position);
            return Ok(());
        }
        if self.take_word(if is_a { "X" } else { "A" }) {
            self.word(if is_a { "txa" } else { "tax" }, position);
            return Ok(());
        }
        self.word(mnemonic, position);
        if self.take_word("mem") {
            let place = self.scratch()?;
            self.out.extend(place);
        } else if self.take_word("len") {
            self.word("len", position);
        } else if is_a && self.take_word("sys_number") {
            self.word("nr", position);
        } else if is_a && self.take_word("arch") {
            self.word("arch", position);
        } else if is_a && self.take_word("instruction_pointer") {
            let halves = ("instruction_pointer.low", "instruction_pointer.high");
            self.half(halves, position)?;
        } else if is_a && self.take_word("args") {
            self.expect('[')?;
            let index = self.number("the index of an argument, 0 to 5", 6)?;
            self.expect(']')?;
            let halves = ARGS.get(index as usize).copied().unwrap_or_default();
            self.half(halves, position)?;
        } else if is_a && self.take_word("data") {
            self.expect('[')?;
            let offset = self.rest.first().copied();
            self.number("an offset", 64)?;
            self.expect(']')?;
            self.lexed("[", position)?;
            self.out.extend(offset);
            self.lexed("]", position)?;
        } else {
            let operand = self.operand()?;
            self.out.extend(operand);
        }
        Ok(())
    }

    /// One half of a field: the high one with `>> 32`.
    fn half(
        &mut self,
        (low, high): (&'static str, &'static str),
        position: Position,
    ) -> Result<()> {
        let is_high = self.starts(&['>', '>']);
        if is_high {
            self.skip(2);
            if self.number("32", 33)? != 32 {
                return Err(error(position, "only `>> 32` selects a half".to_owned()));
            }
        }
        self.lexed(if is_high { high } else { low }, position)
    }

    /// X, or a constant.
    fn operand(&mut self) -> Result<Vec<Token<'a>>> {
        let position = self.position();
        if self.take_word("X") {
            return Ok(vec![Token { kind: TokenKind::Word, text: "x", position }]);
        }
        let is_negative = self.starts(&['-']);
        self.skip(usize::from(is_negative));
        let Some(token) = self.rest.first().copied() else { return Err(self.expected("a value")) };
        let token = match token.kind {
            TokenKind::Number(Ok(value)) if is_negative => {
                Token { kind: TokenKind::Number(Ok(value.wrapping_neg())), ..token }
            }
            TokenKind::Number(_) if !is_negative => token,
            TokenKind::Word if !is_negative => constant(token),
            _ => return Err(self.expected("a number, a name or `X`")),
        };
        self.skip(1);
        Ok(vec![Token { kind: TokenKind::Mark('#'), text: "#", position }, token])
    }

    /// The operand of `return`.
    fn returned(&mut self) -> Result<()> {
        let Some(token) = self.rest.first().copied() else {
            return Err(self.expected("an action"));
        };
        if let TokenKind::Number(_) = token.kind {
            self.lexed("#", token.position)?;
        } else if token.kind != TokenKind::Word {
            return Err(self.expected("an action, a number or `A`"));
        }
        self.skip(1);
        self.out.push(token);
        if self.starts(&['(']) {
            let length = self.rest.iter().take_while(|token| !token.is(')')).count() + 1;
            self.out.extend(self.rest.iter().take(length));
            self.skip(length);
        }
        Ok(())
    }

    /// `[n]` after `mem`, as a word of the scratch memory.
    fn scratch(&mut self) -> Result<Vec<Token<'a>>> {
        let position = self.position();
        let mut place = vec![Token { kind: TokenKind::Word, text: "M", position }];
        place.extend(self.rest.iter().take(3));
        self.expect('[')?;
        self.number("the number of a word, 0 to 15", 16)?;
        self.expect(']')?;
        Ok(place)
    }

    /// The target of a jump.
    fn target(&mut self) -> Result<Vec<Token<'a>>> {
        let Some(token) = self.rest.first().copied() else { return Err(self.expected("a label")) };
        let target = match token.kind {
            TokenKind::Word => token,
            TokenKind::Number(_) if self.labels.contains(token.text) => {
                Token { kind: TokenKind::Word, ..token }
            }
            TokenKind::Number(_) => token,
            _ => return Err(self.expected("a label")),
        };
        self.skip(1);
        Ok(vec![target])
    }

    /// Adds a word of the assembler.
    fn word(&mut self, text: &'static str, position: Position) {
        self.out.push(Token { kind: TokenKind::Word, text, position });
    }

    /// Adds the tokens of a text of the assembler.
    fn lexed(&mut self, text: &'static str, position: Position) -> Result<()> {
        let found = match text {
            "#" => vec![Token { kind: TokenKind::Mark('#'), text, position }],
            text => tokens(text, Flavour::Assembly)?,
        };
        let code = found.into_iter().filter(|token| token.kind != TokenKind::LineEnd);
        self.out.extend(code.map(|token| Token { position, ..token }));
        Ok(())
    }

    /// A number below a limit.
    fn number(&mut self, what: &str, limit: u32) -> Result<u32> {
        match self.rest.first().map(|token| token.kind) {
            Some(TokenKind::Number(Ok(value))) if value < limit => {
                self.skip(1);
                Ok(value)
            }
            _ => Err(self.expected(what)),
        }
    }

    fn position(&self) -> Position {
        self.rest.first().map_or(self.end, |token| token.position)
    }

    fn starts(&self, marks: &[char]) -> bool {
        marks
            .iter()
            .enumerate()
            .all(|(at, mark)| self.rest.get(at).is_some_and(|token| token.is(*mark)))
    }

    fn skip(&mut self, tokens: usize) {
        self.rest = self.rest.get(tokens..).unwrap_or_default();
    }

    /// Continues after the line of the next token.
    fn skip_line(&mut self) {
        let line = self.position().line;
        let length = self.rest.iter().take_while(|token| token.position.line == line).count();
        self.skip(length);
    }

    fn take(&mut self, mark: char) -> bool {
        let there = self.starts(&[mark]);
        self.skip(usize::from(there));
        there
    }

    fn take_word(&mut self, word: &str) -> bool {
        let there = self.rest.first().is_some_and(|token| token.is_word(word));
        self.skip(usize::from(there));
        there
    }

    fn expect(&mut self, mark: char) -> Result<()> {
        if self.take(mark) { Ok(()) } else { Err(self.expected(&format!("`{mark}`"))) }
    }

    fn expected(&self, what: &str) -> Diagnostic {
        let message = match self.rest.first() {
            Some(token) => format!("expected {what}, found {}", quote(token.text)),
            None => format!("expected {what} at the end of the text"),
        };
        error(self.position(), message)
    }
}

/// The token of a constant with the assembler's name of it.
fn constant(token: Token<'_>) -> Token<'_> {
    if let Some((_, text)) = ARCHES.iter().find(|(name, _)| *name == token.text) {
        return Token { text, ..token };
    }
    let x32 = token.text.strip_prefix("x32_").and_then(|name| Arch::X32.number(name));
    match x32 {
        Some(number) => Token { kind: TokenKind::Number(Ok(number)), ..token },
        None => token,
    }
}

#[cfg(test)]
mod tests;
