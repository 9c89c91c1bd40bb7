//! What the parser in C refuses of statements that the compiler in Python accepts (`syscall_filter.c` and `util.c` of minijail).
//!
//! It splits a line at blanks and signs instead of reading tokens: an operator needs blanks around it, a value has none, and a
//! comment has a line of its own.

use super::lexer::{Kind, Line, Token};
use super::parse::{Stop, Syntax};
use crate::diagnostics::quote::shorten;
use crate::included::{Place, Reports, Sources};

/// Reports what the parser in C refuses of a statement, or else does nothing.
pub(super) fn check(
    line: &Line,
    depth: usize,
    sources: &Sources,
    reports: &mut Reports,
) -> Syntax<()> {
    let mut check = Check { line, sources, reports };
    match line.tokens.first() {
        None => Ok(()),
        Some(first) => match first.kind {
            Kind::Include => check.include(depth),
            Kind::Default | Kind::Denylist => {
                check.refuse(*first, "has no such directive", "its only directive is @include")
            }
            _ => check.statement(),
        },
    }
}

struct Check<'c> {
    line: &'c Line,
    sources: &'c Sources,
    reports: &'c mut Reports,
}

impl Check<'_> {
    /// The error at a token.
    fn refuse(&mut self, token: Token, why: &str, help: &str) -> Syntax<()> {
        let shown = shorten(self.sources.text(token.span));
        let message = format!("minijail's parser in C {why}: `{shown}`");
        self.reports.error(token.span.at, message).help = help.to_owned();
        Err(Stop)
    }

    /// The error at the first character of a part of the text that is not in this set.
    fn refuse_between(&mut self, from: Place, text: &str, allowed: &[char]) -> Syntax<()> {
        let Some((at, odd)) = text.char_indices().find(|(_, c)| !allowed.contains(c)) else {
            return Ok(());
        };
        let offset = from.offset.saturating_add(u32::try_from(at).unwrap_or(u32::MAX));
        let (message, help) = match odd {
            '#' => (
                "minijail's parser in C takes this comment as a part of the statement".to_owned(),
                "give the comment a line of its own",
            ),
            odd => (
                format!("minijail's parser in C separates words by blanks, not by {odd:?}"),
                "write a blank",
            ),
        };
        self.reports.error(Place { offset, ..from }, message).help = help.to_owned();
        Err(Stop)
    }

    /// The text between the end of a token and a place in the same text.
    fn between(&self, token: Token, end: Place) -> (Place, String) {
        let offset = token.span.at.offset.saturating_add(token.span.len);
        let from = Place { offset, ..token.span.at };
        let text = self.sources.get(from.source).map_or("", |source| &source.text);
        let range = offset as usize..end.offset as usize;
        // A line that goes on is joined with a blank.
        let gap = text.get(range).unwrap_or_default().replace("\\\n", "  ");
        (from, gap)
    }

    /// The text after the last token.
    fn rest(&self, last: Token) -> (Place, String) {
        self.between(last, self.line.end)
    }

    fn include(&mut self, depth: usize) -> Syntax<()> {
        let line: &Line = self.line;
        let tokens = &line.tokens;
        let (Some(first), Some(last)) = (tokens.first().copied(), tokens.last().copied()) else {
            return Ok(());
        };
        if depth > 1 {
            let help = "include the file from the policy itself";
            return self.refuse(first, "takes no directive in an included file", help);
        }
        let (_, gap) = self.between(first, last.span.at);
        if tokens.len() == 2 && gap != " " {
            let help = "write one blank before the path";
            return self.refuse(first, "needs a single blank after the directive", help);
        }
        let (from, rest) = self.rest(last);
        self.refuse_between(from, &rest, &[' ', '\t'])
    }

    fn statement(&mut self) -> Syntax<()> {
        let line: &Line = self.line;
        let tokens = line.tokens.as_slice();
        let Some(colon) = tokens.iter().position(|token| token.kind == Kind::Sign(":")) else {
            return Ok(());
        };
        let (name, filter) = tokens.split_at(colon);
        if let Some(brace) = name.first().filter(|token| token.kind == Kind::Sign("{")) {
            let help = "write a statement for each syscall";
            return self.refuse(*brace, "has no lists of syscalls", help);
        }
        if let Some(odd) = name.get(1) {
            let help = "write the name of one syscall before the colon, without brackets";
            return self.refuse(*odd, "takes this as a part of the name", help);
        }
        let Some((colon, filter)) = filter.split_first() else { return Ok(()) };
        self.filter(*colon, filter)
    }

    /// Checks what follows the colon, word by word.
    fn filter(&mut self, colon: Token, filter: &[Token]) -> Syntax<()> {
        let mut before = colon;
        let mut returns = false;
        for token in filter {
            let (from, gap) = self.between(before, token.span.at);
            match before.kind {
                Kind::Sign(":") => self.refuse_between(from, &gap, &[' ', '\t'])?,
                _ => self.refuse_between(from, &gap, &[' '])?,
            }
            match token.kind {
                Kind::Sign("{") => {
                    let help = "write one condition, perhaps with `; return` and an errno";
                    return self.refuse(*token, "has no lists of filters", help);
                }
                Kind::Action(_) => {
                    let help = "its only actions are `1` and `return` with an errno";
                    return self.refuse(*token, "has no such action", help);
                }
                Kind::Number => self.number(*token, before)?,
                _ => {}
            }
            let wrong = match (before.kind, token.kind) {
                (Kind::Argument, Kind::Operator(_)) | (Kind::Return | Kind::Operator(_), _) => {
                    gap.is_empty()
                }
                // A value is one word.
                (_, Kind::Sign("|" | ")")) | (Kind::Sign("|" | "(" | "~"), _) => !gap.is_empty(),
                _ => false,
            };
            if wrong {
                let help = "write blanks around the operator, and none in the value";
                return self.refuse(*token, "reads the words here in another way", help);
            }
            returns |= token.kind == Kind::Return;
            before = *token;
        }
        let (from, rest) = self.rest(before);
        match returns {
            // What follows the errno after a blank is not read.
            true if rest.starts_with(' ') => Ok(()),
            _ => self.refuse_between(from, &rest, &[' ', '\t']),
        }
    }

    /// Refuses numbers that `strtol` does not read to their end, and other forms of `1` as an action.
    fn number(&mut self, token: Token, before: Token) -> Syntax<()> {
        let text = self.sources.text(token.span);
        if before.kind == Kind::Sign(":") && text != "1" {
            return self.refuse(token, "reads only `1` as an action", "write 1");
        }
        let digits = text.strip_prefix('-').unwrap_or(text);
        let is_octal = digits.len() > 1 && digits.bytes().all(|digit| digit.is_ascii_digit());
        if is_octal && digits.starts_with('0') && digits.contains(['8', '9']) {
            let help = "a number with a 0 in front is octal; remove the 0";
            return self.refuse(token, "reads this as an octal number", help);
        }
        Ok(())
    }
}
