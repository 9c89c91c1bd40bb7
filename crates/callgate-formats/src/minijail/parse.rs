//! Parser of a statement: from its tokens to syscalls and filters.

use super::lexer::{ACTIONS, Kind, Line, Token};
use super::semantics::Semantics;
use crate::diagnostics::quote::shorten;
use crate::included::{Place, Reports, Sources, Span};
use callgate_bpf::advice::Advice;
use callgate_bpf::suggest::nearest;
use callgate_core::policy::{Cmp, Condition, Field, Test};
use callgate_core::{Arch, Verdict};

/// A policy with its included files.
#[derive(Default)]
pub(super) struct Model {
    pub(super) statements: Vec<Statement>,
    /// The action of the last `@default`, and its place.
    pub(super) default: Option<(Verdict, Place)>,
    /// Whether the policy is a denylist.
    pub(super) is_denylist: bool,
}

/// Syscalls and their filters.
pub(super) struct Statement {
    pub(super) syscalls: Vec<Syscall>,
    pub(super) filters: Vec<Filter>,
}

/// A syscall of a statement.
#[derive(Clone, Copy)]
pub(super) struct Syscall {
    pub(super) at: Span,
    pub(super) nr: u32,
}

/// A filter: an action, perhaps with conditions.
pub(super) struct Filter {
    pub(super) at: Place,
    /// At least one of the lists must hold, and of this all comparisons. `None` without conditions.
    pub(super) when: Option<Vec<Vec<Condition>>>,
    pub(super) action: Verdict,
}

/// The largest errno that the kernel returns (`MAX_ERRNO`).
const MAX_ERRNO: u64 = 4095;

/// An error was reported.
pub(super) struct Stop;

pub(super) type Syntax<T> = Result<T, Stop>;

/// Parser of one statement.
pub(super) struct Parser<'p> {
    pub(super) sources: &'p Sources,
    pub(super) reports: &'p mut Reports,
    /// Whether it was said that the parser in C reads `; return` the other way round.
    pub(super) said_opposite: &'p mut bool,
    /// The chosen compiler; `None` if none is.
    pub(super) semantics: Option<Semantics>,
    pub(super) arch: Arch,
    pub(super) is_denylist: bool,
    pub(super) line: &'p Line,
    pub(super) next: usize,
}

impl<'p> Parser<'p> {
    /// The verdict of `kill`.
    pub(super) fn kill(is_denylist: bool) -> Verdict {
        /// The errno of a denylist, EPERM.
        const EPERM: u16 = 1;
        if is_denylist { Verdict::errno(EPERM) } else { Verdict::KILL_THREAD }
    }

    pub(super) fn peek(&self) -> Option<Token> {
        self.line.tokens.get(self.next).copied()
    }

    pub(super) fn take(&mut self) {
        self.next += 1;
    }

    /// Takes the next token if it is of this kind.
    pub(super) fn takes(&mut self, kind: Kind) -> bool {
        let is = self.peek().is_some_and(|token| token.kind == kind);
        self.next += usize::from(is);
        is
    }

    pub(super) fn text(&self, token: Token) -> &'p str {
        self.sources.text(token.span)
    }

    /// An error at a token, or at the end of the statement.
    pub(super) fn fail_at(&mut self, token: Option<Token>, message: String, help: &str) -> Stop {
        let at = token.map_or(self.line.end, |token| token.span.at);
        self.reports.error(at, message).help = help.to_owned();
        Stop
    }

    pub(super) fn warn(&mut self, token: Token, message: String, help: &str) {
        self.reports.warn(token.span.at, message).help = help.to_owned();
    }

    /// The error for another token than expected.
    pub(super) fn expected(&mut self, what: &str, help: &str) -> Stop {
        let token = self.peek();
        let found = match token {
            Some(token) => format!("`{}`", shorten(self.text(token))),
            None => "the end of the statement".to_owned(),
        };
        self.fail_at(token, format!("expected {what}, but found {found}"), help)
    }

    /// Takes a name.
    pub(super) fn name(&mut self, what: &str) -> Syntax<Token> {
        let token = self.peek().filter(|token| token.kind == Kind::Name);
        self.take();
        token.ok_or_else(|| {
            self.next -= 1;
            self.expected(what, "")
        })
    }

    /// An error unless the statement ends here.
    pub(super) fn end(&mut self) -> Syntax<()> {
        match self.peek() {
            None => Ok(()),
            Some(_) => Err(self.expected("the end of the line", "write one statement per line")),
        }
    }

    /// `syscalls: filters`. `None` if all syscalls are for other architectures.
    pub(super) fn statement(&mut self) -> Syntax<Option<Statement>> {
        let syscalls = self.list(Self::syscall)?.into_iter().flatten();
        let mut syscalls: Vec<Syscall> = syscalls.map(|(syscall, _)| syscall).collect();
        if !self.takes(Kind::Sign(":")) {
            return Err(self.expected("`:`", "a statement is `syscall: filter`"));
        }
        let lists = self.list(Self::filter)?;
        self.end()?;
        let mut filters: Vec<Filter> = lists.into_iter().flatten().collect();
        // There may be a million statements.
        syscalls.shrink_to_fit();
        filters.shrink_to_fit();
        Ok(Some(Statement { syscalls, filters }).filter(|statement| !statement.syscalls.is_empty()))
    }

    /// An item, or several in braces.
    fn list<T>(&mut self, item: fn(&mut Self) -> Syntax<T>) -> Syntax<Vec<T>> {
        if !self.takes(Kind::Sign("{")) {
            return Ok(vec![item(self)?]);
        }
        let mut items = vec![item(self)?];
        while self.takes(Kind::Sign(",")) {
            items.push(item(self)?);
        }
        if !self.takes(Kind::Sign("}")) {
            return Err(self.expected("`,` or `}`", ""));
        }
        Ok(items)
    }

    /// An action, or conditions with one; for the parser in C, which has an action for calls that do not meet the conditions,
    /// both.
    fn filter(&mut self) -> Syntax<Vec<Filter>> {
        let first = self.peek();
        let at = first.map_or(self.line.end, |token| token.span.at);
        if !first.is_some_and(|token| token.kind == Kind::Argument) {
            return Ok(vec![Filter { at, when: None, action: self.action()? }]);
        }
        let mut when = Vec::new();
        loop {
            let mut all = vec![self.comparison()?];
            while self.takes(Kind::Sign("&&")) {
                all.push(self.comparison()?);
            }
            when.push(all);
            if !self.takes(Kind::Sign("||")) {
                break;
            }
        }
        let mut filter = Filter { at, when: Some(when), action: Verdict::ALLOW };
        let mut otherwise = None;
        if self.takes(Kind::Sign(";")) {
            let token = self.peek();
            let action = self.action()?;
            if self.semantics == Some(Semantics::C) {
                let at = token.map_or(self.line.end, |token| token.span.at);
                otherwise = Some(Filter { at, when: None, action });
            } else {
                filter.action = action;
            }
            self.check_opposite(token);
        }
        Ok(std::iter::once(filter).chain(otherwise).collect())
    }

    /// Warns that the parser in C returns the errno if the conditions do not hold, if no compiler is chosen.
    fn check_opposite(&mut self, action: Option<Token>) {
        let is_said = *self.said_opposite || self.semantics.is_some();
        let token = action.filter(|token| token.kind == Kind::Return && !is_said);
        if let Some(token) = token {
            *self.said_opposite = true;
            let message = "this applies if the conditions hold; minijail's parser in C returns the errno if they do not hold";
            self.reports.warn(token.span.at, message).set_help(Advice::MinijailSemantics);
        }
    }

    /// `argN OP value`
    fn comparison(&mut self) -> Syntax<Condition> {
        let argument = self.peek().filter(|token| token.kind == Kind::Argument);
        let Some(argument) = argument else {
            return Err(self.expected("an argument such as `arg0`", ""));
        };
        self.take();
        let digits = self.text(argument).trim_start_matches("arg").trim_start_matches('0');
        let index = match digits {
            "" => Some(0),
            digits => digits.parse().ok(),
        };
        let Some(wide) = index.and_then(Field::arg) else {
            let message = format!("`{}` is not an argument", shorten(self.text(argument)));
            let help =
                "the arguments are arg0 to arg5; the kernel rejects a filter that reads arg6";
            return Err(self.fail_at(Some(argument), message, help));
        };
        let operator = self.peek();
        let Some(Kind::Operator(sign)) = operator.map(|token| token.kind) else {
            return Err(self.expected("an operator: == != < <= > >= & in", ""));
        };
        self.take();
        let value = self.value()?;
        let word = self.word();
        let field = if word == u64::MAX { wide } else { wide.low32() };
        let constant = match (sign, value) {
            ("&" | "<", 0) => Some((Condition::never(), "never holds")),
            (">", value) if value == word => Some((Condition::never(), "never holds")),
            (">=", 0) => Some((Condition::always(), "holds for every value")),
            ("<=" | "in", value) if value == word => {
                Some((Condition::always(), "holds for every value"))
            }
            _ => None,
        };
        if let Some((condition, verb)) = constant {
            let help = "check the operator and the value; comparisons are unsigned";
            self.warn(argument, format!("this comparison {verb}"), help);
            return Ok(condition);
        }
        let (cmp, mask, value) = match (sign, value) {
            ("&", mask) => (Cmp::Ne, mask, 0),
            ("in", mask) => (Cmp::Eq, !mask & word, 0),
            ("!=", _) => (Cmp::Ne, word, value),
            ("<", _) => (Cmp::Lt, word, value),
            ("<=", _) => (Cmp::Le, word, value),
            (">", _) => (Cmp::Gt, word, value),
            (">=", _) => (Cmp::Ge, word, value),
            _ => (Cmp::Eq, word, value),
        };
        Ok(Condition::test(Test { field, mask, cmp, value }))
    }

    /// An action.
    fn action(&mut self) -> Syntax<Verdict> {
        let token = self.peek();
        match token.map(|token| token.kind) {
            Some(Kind::Return) => {
                self.take();
                let number = self.peek();
                let is_c = self.semantics == Some(Semantics::C);
                if is_c && number.is_none() {
                    return Ok(Self::kill(false));
                }
                let value = match is_c {
                    true => self.value()?,
                    false => self.constant("an errno after `return`")?,
                };
                self.check_errno(number, value);
                Ok(Verdict::errno(value as u16))
            }
            _ if self.is_denylist => Err(self
                .expected("`return` and an errno", "a policy with @denylist has no other actions")),
            Some(Kind::Action(action)) => {
                self.take();
                Ok(verdict(action, Self::kill(false)))
            }
            Some(Kind::Number) => {
                let is_one = match token {
                    Some(token) => self.number(token)? == 1,
                    None => false,
                };
                if is_one {
                    self.take();
                    return Ok(Verdict::ALLOW);
                }
                Err(self.expected("an action", "write 1 or `allow` to allow every call"))
            }
            Some(Kind::Name) => {
                let word = token.map_or("", |token| self.text(token));
                let near = self.reports.nearest(|| nearest(word, ACTIONS));
                let help = near.map_or_else(actions, |near| format!("did you mean `{near}`?"));
                Err(self.expected("an action or an argument", &help))
            }
            _ => Err(self.expected("an action or an argument", &actions())),
        }
    }

    fn check_errno(&mut self, token: Option<Token>, value: u64) {
        let Some(token) = token.filter(|_| value > MAX_ERRNO) else { return };
        let message = if value > u16::MAX.into() {
            format!("errno {value} has more than 16 bits; minijail keeps {}", value as u16)
        } else {
            format!("errno {value} is more than {MAX_ERRNO}, so the kernel returns {MAX_ERRNO}")
        };
        self.warn(token, message, &format!("use a number up to {MAX_ERRNO}"));
    }

    /// What follows `@default`.
    pub(super) fn default_action(&mut self) -> Syntax<Verdict> {
        let token = self.peek();
        let Some(Kind::Action(action)) = token.map(|token| token.kind) else {
            let help =
                "the default actions are kill, kill-process, kill-thread, trap and user-notify";
            return Err(self.expected("a default action", help));
        };
        if matches!(action, "allow" | "log" | "trace") {
            let message = format!("the default action `{action}` would let syscalls run");
            let help =
                "minijail rejects this; write kill, kill-process, kill-thread, trap or user-notify";
            return Err(self.fail_at(token, message, help));
        }
        self.take();
        self.end()?;
        Ok(verdict(action, Self::kill(self.is_denylist)))
    }

    /// The path after `@include` or `@frequency`.
    pub(super) fn path(&mut self) -> Syntax<Token> {
        let token = self.peek().filter(|token| token.kind == Kind::Path);
        let Some(token) = token else {
            return Err(self.expected("a path", "a path starts with `/` or `./`"));
        };
        self.take();
        Ok(token)
    }
}

fn verdict(action: &str, kill: Verdict) -> Verdict {
    match action {
        "allow" => Verdict::ALLOW,
        "kill-process" => Verdict::KILL_PROCESS,
        "kill-thread" => Verdict::KILL_THREAD,
        "trap" => Verdict::trap(0),
        "trace" => Verdict::trace(0),
        "log" => Verdict::LOG,
        "user-notify" => Verdict::user_notif(0),
        _ => kill,
    }
}

fn actions() -> String {
    format!("the actions are 1, {}, and `return` with an errno", ACTIONS.join(", "))
}
