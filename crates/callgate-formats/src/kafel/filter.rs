//! Parser of filters: a syscall with its parameters and architectures.

use super::lexer::{Keyword, Mistake, Syntax, TokenKind};
use super::model::{Filter, Syscall};
use super::names::arch_of_name;
use super::parse::{MAX_RULES, Parser};
use crate::diagnostics::quote::{did_you_mean, shorten};
use crate::included::{Place, Span};
use callgate_bpf::suggest::nearest;
use callgate_core::Arch;

impl Parser<'_, '_> {
    /// A syscall with its parameters, architectures and condition.
    pub(super) fn filter(&mut self) -> Syntax<Filter> {
        let token = self.tokens.take();
        let index = self.rules;
        self.rules += 1;
        if self.rules > MAX_RULES {
            return Err(self.stop(token.span.at, format!("more than {MAX_RULES} rules")));
        }
        let (syscall, at) = match token.kind {
            TokenKind::Name => {
                let word = self.text(token.span).to_owned();
                let syscall = match self.defined_number(&word) {
                    Some(value) => Syscall::Defined(self.syscall_number(value, token.span.at)),
                    None => Syscall::Named,
                };
                (syscall, token.span)
            }
            TokenKind::Keyword(Keyword::Syscall) => {
                self.expect("[")?;
                let number = self.tokens.take();
                let word = self.text(number.span).to_owned();
                let value = match number.kind {
                    TokenKind::Number(value) => Some(value),
                    TokenKind::Name => self.defined_number(&word),
                    _ => None,
                };
                let Some(value) = value else {
                    return Err(self.unexpected(number, "the number of the syscall", &[]));
                };
                let end = self.tokens.peek().span;
                self.expect("]")?;
                let len = if end.at.source == token.span.at.source {
                    (end.at.offset + end.len).saturating_sub(token.span.at.offset)
                } else {
                    token.span.len
                };
                let value = self.syscall_number(value, number.span.at);
                (Syscall::Number(value), Span { len, ..token.span })
            }
            TokenKind::Keyword(_) => {
                let word = self.text(token.span);
                let message = format!("expected a syscall, but found the keyword `{word}`");
                return Err(Mistake::new(
                    token.span.at,
                    message,
                    "close the block before it with `}`",
                ));
            }
            _ => return Err(self.unexpected(token, "a syscall", &[])),
        };
        let parameters = self.parameters()?;
        let arches = self.guard()?;
        let condition = self.condition()?;
        Ok(Filter { index, syscall, at, parameters, arches, condition })
    }

    /// A number as the kernel has it: 32 bits, perhaps negative.
    fn syscall_number(&mut self, value: u64, at: Place) -> u32 {
        let narrow = u32::try_from(value).ok();
        let narrow = narrow.or_else(|| i32::try_from(value as i64).ok().map(|value| value as u32));
        narrow.unwrap_or_else(|| {
            let message = format!("{value:#x} is not the number of a syscall, which has 32 bits");
            self.tokens.reports.error(at, message).help = "Kafel drops the upper bits".to_owned();
            0
        })
    }

    /// `(a, b, …)`
    fn parameters(&mut self) -> Syntax<Option<Vec<Span>>> {
        /// The number of arguments that a syscall has at most.
        const MAX: usize = 6;
        if !self.takes(TokenKind::Sign("(")) {
            return Ok(None);
        }
        let mut parameters: Vec<Span> = Vec::new();
        if self.takes(TokenKind::Sign(")")) {
            return Ok(Some(parameters));
        }
        loop {
            let name = self.name("the name of an argument")?;
            let text = self.text(name);
            if parameters.iter().any(|other| self.text(*other) == text) {
                let message = format!("two arguments have the name `{}`", shorten(text));
                self.tokens.reports.error(name.at, message).help = "use another name".to_owned();
            }
            if parameters.len() == MAX {
                let message = format!("more than {MAX} arguments");
                return Err(Mistake::new(name.at, message, "a syscall has at most 6 arguments"));
            }
            parameters.push(name);
            if self.ends(")")? {
                return Ok(Some(parameters));
            }
        }
    }

    /// `ON arch` or `ON { arch, … }`
    fn guard(&mut self) -> Syntax<Option<Vec<Arch>>> {
        if !self.takes(TokenKind::Keyword(Keyword::On)) {
            return Ok(None);
        }
        let mut arches = Vec::new();
        let is_list = self.takes(TokenKind::Sign("{"));
        loop {
            self.arch(&mut arches)?;
            if !is_list || self.ends("}")? {
                return Ok(Some(arches));
            }
        }
    }

    fn arch(&mut self, arches: &mut Vec<Arch>) -> Syntax<()> {
        let name = self.name("an architecture")?;
        let text = self.text(name).to_owned();
        match arch_of_name(&text) {
            Some(arch) if arches.contains(&arch) => {
                let message = format!("the architecture `{}` is given twice", shorten(&text));
                self.tokens.reports.error(name.at, message).help = "remove one".to_owned();
            }
            Some(arch) => arches.push(arch),
            None => {
                let known = || Arch::ALL.iter().map(|arch| arch.name());
                let search = || nearest(&text.to_ascii_lowercase(), known());
                let otherwise =
                    format!("the architectures are {}", known().collect::<Vec<_>>().join(", "));
                let help = did_you_mean(self.tokens.reports.nearest(search), &otherwise);
                let message = format!("unknown architecture `{}`", shorten(&text));
                self.tokens.reports.error(name.at, message).help = help;
            }
        }
        Ok(())
    }
}
