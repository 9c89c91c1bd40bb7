//! Definitions of macros, and those of well-known ones.

use std::collections::HashMap;

use crate::cursor::Result;
use crate::diagnostic::{Position, error};
use crate::token::{Token, quote};

/// How many parameters a macro may have.
const MAX_PARAMETERS: usize = 64;

/// A macro; its body is a part of the text.
pub(super) struct Macro<'t, 'a> {
    pub(super) name: &'a str,
    /// The parameters of a macro that is called, without `...`.
    pub(super) parameters: Option<Vec<&'a str>>,
    /// Whether it has `...`.
    pub(super) is_variadic: bool,
    /// The name of `...` in the body.
    rest: &'a str,
    pub(super) body: &'t [Token<'a>],
    /// Whether the body has `#` or `##`.
    pub(super) has_operators: bool,
    /// Whether the text does not define it, but many examples do.
    pub(super) is_well_known: bool,
}

/// Macros by name.
pub(super) type Macros<'t, 'a> = HashMap<&'a str, Macro<'t, 'a>>;

/// A part of the body of a macro.
pub(super) enum Part<'a> {
    Token(Token<'a>),
    /// A parameter; that of `...` comes after the others.
    Parameter(usize),
    /// `#` before a parameter: a string.
    Text,
    /// `##`.
    Join,
}

impl<'t, 'a> Macro<'t, 'a> {
    /// The name, the parameters and the body after `#define`.
    pub(super) fn read(line: &'t [Token<'a>], start: Position) -> Result<Macro<'t, 'a>> {
        let Some((name, after)) = line.split_first().filter(|(name, _)| name.is_name()) else {
            let position = line.first().map_or(start, |token| token.position);
            return Err(error(position, "expected the name of a macro"));
        };
        if name.text == "defined" || name.text == "__VA_OPT__" {
            let message = format!("{} cannot be a macro", quote(name.text));
            return Err(error(name.position, message));
        }
        let mut read = Macro {
            name: name.text,
            parameters: None,
            is_variadic: false,
            rest: "__VA_ARGS__",
            body: after,
            has_operators: false,
            is_well_known: false,
        };
        if after.first().is_some_and(|open| open.is('(') && is_adjacent(name, open)) {
            read.read_parameters(*name, after)?;
        }
        read.has_operators = read.body.iter().any(|token| token.is('#'));
        let parts = read.parts();
        let position = read.body.first().map_or(name.position, |first| first.position);
        if matches!(parts.as_slice(), [Part::Join, ..] | [.., Part::Join]) {
            return Err(error(position, "`##` is at an end of this macro"));
        }
        let is_stray = |part: &Part<'_>| matches!(part, Part::Token(token) if token.is('#'));
        if read.parameters.is_some() && parts.iter().any(is_stray) {
            return Err(error(position, "`#` is not before a parameter of this macro"));
        }
        if read.body.iter().any(|token| token.text == "__VA_OPT__") {
            return Err(error(position, "`__VA_OPT__` is not read")
                .help("write out the macro where it is used"));
        }
        Ok(read)
    }

    fn read_parameters(&mut self, name: Token<'a>, after: &'t [Token<'a>]) -> Result<()> {
        let close = after.iter().position(|token| token.is(')'));
        let split = close.and_then(|close| Some((after.get(1..close)?, after.get(close + 1..)?)));
        let Some((inside, body)) = split else {
            return Err(error(name.position, "the parameters of this macro have no `)`"));
        };
        self.body = body;
        let mut parameters = Vec::new();
        let wrong = || error(name.position, "the parameters of this macro are not names");
        let is_dots =
            |tokens: &[Token<'_>]| tokens.len() == 3 && tokens.iter().all(|dot| dot.is('.'));
        let mut lists =
            inside.split(|token| token.is(',')).filter(|_| !inside.is_empty()).peekable();
        while let Some(tokens) = lists.next() {
            match tokens {
                [name] if name.is_name() => parameters.push(name.text),
                [name, dots @ ..] if name.is_name() && is_dots(dots) => {
                    (self.is_variadic, self.rest) = (true, name.text);
                }
                dots if is_dots(dots) => self.is_variadic = true,
                _ => return Err(wrong()),
            }
            if self.is_variadic && lists.peek().is_some() {
                return Err(wrong());
            }
        }
        if parameters.len() > MAX_PARAMETERS {
            let message =
                format!("this macro has more than {MAX_PARAMETERS} parameters, the limit");
            return Err(error(name.position, message));
        }
        let is_twice =
            |(at, name): (usize, &&str)| parameters.iter().take(at).any(|other| other == name);
        if parameters.iter().enumerate().any(is_twice) {
            return Err(wrong());
        }
        self.parameters = Some(parameters);
        Ok(())
    }

    /// The parts of the body.
    pub(super) fn parts(&self) -> Vec<Part<'a>> {
        let parameter = |token: &Token<'_>| {
            let parameters = self.parameters.as_deref()?;
            match self.is_variadic && token.text == self.rest {
                true => Some(parameters.len()),
                false => parameters.iter().position(|name| *name == token.text),
            }
        };
        let mut parts = Vec::with_capacity(self.body.len());
        let mut rest = self.body;
        while let Some((first, after)) = rest.split_first() {
            rest = after;
            let next = after.first();
            if first.is('#') {
                if next.is_some_and(|next| next.is('#') && is_adjacent(first, next)) {
                    parts.push(Part::Join);
                    rest = after.get(1..).unwrap_or_default();
                    continue;
                }
                if next.and_then(parameter).is_some() {
                    parts.push(Part::Text);
                    rest = after.get(1..).unwrap_or_default();
                    continue;
                }
            }
            let word = first.is_name().then_some(first);
            parts.push(word.and_then(parameter).map_or(Part::Token(*first), Part::Parameter));
        }
        parts
    }
}

/// Whether nothing is between two tokens of a text, except lines that were joined.
pub(super) fn is_adjacent(first: &Token<'_>, second: &Token<'_>) -> bool {
    first.text.as_bytes().as_ptr_range().end == second.text.as_ptr()
}

/// Macros that many examples use without showing their definitions. Some are from the tutorial on seccomp filters by Will Drewry
/// and Kees Cook (`seccomp-bpf.h`), others are short names of opcodes in examples of socket filters. A definition in the text
/// takes precedence.
pub(super) const DEFINITIONS: &str = r"
#define syscall_nr offsetof(struct seccomp_data, nr)
#define arch_nr offsetof(struct seccomp_data, arch)
#define VALIDATE_ARCHITECTURE \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, arch_nr), \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCH_NR, 1, 0), \
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL)
#define EXAMINE_SYSCALL BPF_STMT(BPF_LD | BPF_W | BPF_ABS, syscall_nr)
#define ALLOW_SYSCALL(name) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, __NR_##name, 0, 1), \
    BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
#define KILL_PROCESS BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL)
#define OP_LDH (BPF_LD | BPF_H | BPF_ABS)
#define OP_LDB (BPF_LD | BPF_B | BPF_ABS)
#define OP_JEQ (BPF_JMP | BPF_JEQ | BPF_K)
#define OP_RET (BPF_RET | BPF_K)
#define SCMP_SYS(name) __NR_##name
";
