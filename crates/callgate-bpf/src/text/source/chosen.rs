//! Which of the programs in a text is meant: each array of instructions is one, and the rows outside arrays are one.
//!
//! A text with several is refused, because they may be different filters, unless one is chosen by its name, by the
//! function that it is in, or by its line.

use super::pairs::Pairs;
use super::part::array_name;
use super::types::Types;
use crate::advice::Advice;
use crate::asm::Errors;
use crate::diagnostic::{Diagnostic, Position};
use crate::lexer::Language;
use crate::token::{Token, quote};
use callgate_core::RawInsn;

/// How many arrays a message lists.
const MAX_LISTED: usize = 10;

/// A program in a text.
pub(super) struct Program<'t, 'a> {
    pub(super) insns: Vec<RawInsn>,
    /// Where it begins.
    pub(super) position: Position,
    /// What is before the array.
    pub(super) declaration: &'t [Token<'a>],
    /// The mark that begins the array; `None` for rows outside arrays.
    pub(super) begin: Option<usize>,
    /// Whether its type is known to be that of instructions.
    pub(super) is_declared: bool,
    pub(super) errors: Errors,
    pub(super) warnings: Vec<Diagnostic>,
}

/// Chooses among the programs of a text.
pub(super) struct Choice<'c, 't, 'a> {
    pub(super) pairs: &'c Pairs<'t, 'a>,
    pub(super) types: &'c Types<'a>,
    pub(super) language: Language,
    /// A name or a line.
    pub(super) part: Option<&'c str>,
}

impl<'a> Choice<'_, '_, 'a> {
    /// The program that is meant; `None` if there is none.
    ///
    /// # Errors
    /// If there are several, or none with the name.
    pub(super) fn choose<'t>(
        &self,
        mut programs: Vec<Program<'t, 'a>>,
    ) -> Result<Option<Program<'t, 'a>>, Diagnostic> {
        let found = match self.part {
            Some(part) => self.named(&programs, part)?,
            None => self.only(&programs)?,
        };
        Ok(found.filter(|at| *at < programs.len()).map(|at| programs.swap_remove(at)))
    }

    /// The only program, or the only one that has the type of instructions while the others have another type.
    fn only(&self, programs: &[Program<'_, 'a>]) -> Result<Option<usize>, Diagnostic> {
        let is_declared = programs.iter().any(|program| program.is_declared);
        let is_other = |program: &Program<'_, 'a>| is_declared && self.is_of_other_type(program);
        let meant: Vec<usize> =
            (0..programs.len()).filter(|at| !programs.get(*at).is_some_and(is_other)).collect();
        match meant.as_slice() {
            [] => Ok(None),
            [only] => Ok(Some(*only)),
            [_, second, ..] => {
                let position = programs.get(*second).map(|program| program.position);
                let message = format!(
                    "this text has {} programs, and which one is meant is not known: {}",
                    meant.len(),
                    self.listed(programs, &meant)
                );
                Err(self.refused(position, message, programs, &meant))
            }
        }
    }

    /// The program with a name: its own one, that of the function around it, or its line.
    fn named(&self, programs: &[Program<'_, 'a>], part: &str) -> Result<Option<usize>, Diagnostic> {
        let all: Vec<usize> = (0..programs.len()).collect();
        if all.is_empty() {
            return Ok(None);
        }
        let with = |is: &dyn Fn(&Program<'_, 'a>) -> bool| -> Vec<usize> {
            all.iter().copied().filter(|at| programs.get(*at).is_some_and(is)).collect()
        };
        let line: Option<u32> = part.parse().ok();
        let mut found = with(&|program| self.name(program) == Some(part));
        if found.is_empty() {
            found = with(&|program| self.function(program) == Some(part));
        }
        if found.is_empty() {
            found = with(&|program| Some(self.line(program)) == line);
        }
        let what = match found.as_slice() {
            [only] => return Ok(Some(*only)),
            [] => "no program",
            _ => "several programs",
        };
        let shown = if found.is_empty() { &all } else { &found };
        let message =
            format!("this text has {what} {}: {}", quote(part), self.listed(programs, shown));
        Err(self.refused(None, message, programs, shown))
    }

    fn refused(
        &self,
        position: Option<Position>,
        message: String,
        programs: &[Program<'_, 'a>],
        shown: &[usize],
    ) -> Diagnostic {
        let names: Vec<_> = shown.iter().filter_map(|at| self.name(programs.get(*at)?)).collect();
        let last = shown.last().and_then(|at| programs.get(*at));
        let line = last.map_or(0, |program| self.line(program)).to_string();
        let name = last.and_then(|program| self.name(program)).unwrap_or(&line);
        let is_unique = names.iter().filter(|other| **other == name).count() == 1;
        let name = if is_unique { name } else { &line };
        let refused = Diagnostic::error(position, message);
        refused.help(Advice::OneProgram(name.to_owned()))
    }

    /// The programs with names, lines and lengths.
    fn listed(&self, programs: &[Program<'_, 'a>], shown: &[usize]) -> String {
        let one = |at: &usize| {
            let program = programs.get(*at)?;
            let name = match (self.name(program), program.begin) {
                (Some(name), _) => quote(name),
                (None, Some(_)) => "an array without a name".to_owned(),
                (None, None) => "instructions outside of arrays".to_owned(),
            };
            let function = self.function(program);
            let function = function.map(|name| format!(" in {}", quote(name)));
            let count = match program.insns.len() {
                1 => "1 instruction".to_owned(),
                count => format!("{count} instructions"),
            };
            let line = self.line(program);
            Some(format!("{name}{} (line {line}, {count})", function.unwrap_or_default()))
        };
        let mut list: Vec<String> = shown.iter().take(MAX_LISTED).filter_map(one).collect();
        if shown.len() > MAX_LISTED {
            list.push(format!("and {} more", shown.len() - MAX_LISTED));
        }
        list.join(", ")
    }

    /// The name of an array.
    fn name(&self, program: &Program<'_, 'a>) -> Option<&'a str> {
        let begin = program.begin?;
        if self.language == Language::C {
            // `p = (struct sock_filter[]) {`
            return array_name(program.declaration).filter(|name| *name != "sock_filter");
        }
        // `let f: [T; 2] = [`, `var f = []T{`, `f := []T{`
        let before = self.pairs.slice(begin.saturating_sub(NEAR), begin);
        let start = before.iter().rposition(|token| token.is_any("{}")).map_or(0, |at| at + 1);
        let words = before.get(start..)?;
        let is_keyword =
            |token: &Token<'_>| matches!(token.text, "let" | "mut" | "const" | "static" | "var");
        let after_keyword = words.iter().rposition(is_keyword).map(|at| at + 1);
        let is_assigned =
            |pair: &[Token<'_>]| matches!(pair, [colon, equals] if colon.is(':') && equals.is('='));
        let before_sign = words.windows(2).rposition(is_assigned).and_then(|at| at.checked_sub(1));
        let name = words.get(after_keyword.max(before_sign)?)?;
        name.is_name().then_some(name.text)
    }

    /// The name of the function that an array is in.
    fn function(&self, program: &Program<'_, 'a>) -> Option<&'a str> {
        let block = self.pairs.blocks(program.begin?).last()?;
        let close = block.checked_sub(1).filter(|close| self.pairs.is(*close, ')'))?;
        let open = self.pairs.partner(close)?;
        let name = self.pairs.before(open, 1).filter(|name| name.is_name())?;
        Some(name.text)
    }

    /// The line of the name of an array, or of the first row.
    fn line(&self, program: &Program<'_, 'a>) -> u32 {
        let name = self.name(program);
        let token = program.declaration.iter().find(|token| Some(token.text) == name);
        token.map_or(program.position, |token| token.position).line
    }

    /// Whether the elements of an array are known to be something else than instructions.
    fn is_of_other_type(&self, program: &Program<'_, 'a>) -> bool {
        let is_qualifier = |word: &str| matches!(word, "const" | "volatile");
        let is_integer = |token: &Token<'_>| {
            token.is_name() && !is_qualifier(token.text) && self.types.is_word(token.text)
        };
        let is_struct = |token: &Token<'_>| matches!(token.text, "struct" | "union");
        self.language == Language::C
            && !program.is_declared
            && program.begin.is_some()
            && program.declaration.iter().any(|token| is_integer(token) || is_struct(token))
    }
}

/// How many tokens before an array may have its name.
const NEAR: usize = 24;

/// An error about a part that a text cannot have.
pub(in super::super) fn no_parts() -> Diagnostic {
    let message = "a program in this form has no parts with names";
    Diagnostic::error(None, message).help("give the whole: only arrays in source code have names")
}
