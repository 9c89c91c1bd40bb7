//! Parser of statements.
//!
//! After an error, it goes on at the next `POLICY`, `DEFAULT` or `#`.

use std::collections::HashMap;

use super::lexer::{KEYWORDS, Keyword, Mistake, Syntax, Token, TokenKind, Tokens};
use super::model::{Expression, Item, ItemKind, Model, PolicyBody, Statement};
use crate::diagnostics::quote::{did_you_mean, shorten};
use crate::included::{OTHER, Place, Span};
use callgate_bpf::constants;
use callgate_bpf::suggest::nearest;
use callgate_core::{Verdict, errno_number};

/// The maximum number of rules.
pub(super) const MAX_RULES: usize = 1_000_000;
/// The maximum number of parts of all expressions.
const MAX_ITEMS: usize = 1_000_000;
/// The maximum number of policies that are compared with an unknown one.
const MAX_SIMILAR: usize = 1000;

/// A `#define`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Definition {
    Number(u64),
    /// One of the kernel's constants.
    Constant(Span),
}

/// The state of the parser.
pub(super) struct Parser<'a, 'i> {
    pub(super) tokens: Tokens<'a, 'i>,
    model: Model,
    definitions: HashMap<String, (Definition, Place)>,
    /// The indices of the policies.
    policies: HashMap<String, usize>,
    /// Number of rules, and of parts of expressions.
    pub(super) rules: usize,
    items: usize,
    /// Whether a syntax error was reported, after which other errors may be consequences.
    is_broken: bool,
}

impl<'a, 'i> Parser<'a, 'i> {
    pub(super) fn new(tokens: Tokens<'a, 'i>) -> Parser<'a, 'i> {
        Parser {
            tokens,
            model: Model { policies: vec![PolicyBody::default()], default: None },
            definitions: HashMap::new(),
            policies: HashMap::new(),
            rules: 0,
            items: 0,
            is_broken: false,
        }
    }

    /// Parses everything. Returns the model, the tokens with the messages, and whether the syntax is right.
    pub(super) fn parse(mut self) -> (Model, Tokens<'a, 'i>, bool) {
        while self.tokens.peek().kind != TokenKind::End {
            if let Err(mistake) = self.top_level() {
                self.tokens.report(mistake);
                self.is_broken = true;
                self.recover();
            }
        }
        let is_right = !self.is_broken && !self.tokens.reports.failed();
        (self.model, self.tokens, is_right)
    }

    /// Skips to a token that starts a statement at the top level.
    fn recover(&mut self) {
        loop {
            match self.tokens.peek().kind {
                TokenKind::End
                | TokenKind::Keyword(Keyword::Policy | Keyword::Default)
                | TokenKind::Sign("#") => return,
                _ => drop(self.tokens.take()),
            }
        }
    }

    fn top_level(&mut self) -> Syntax<()> {
        let token = self.tokens.peek();
        match token.kind {
            TokenKind::Sign("#") => {
                self.tokens.take();
                self.definition(token.span.at)
            }
            TokenKind::Keyword(Keyword::Policy) => {
                self.tokens.take();
                self.policy()
            }
            TokenKind::Keyword(Keyword::Default) => {
                self.tokens.take();
                let verdict = self.action()?;
                if let Some((_, first)) = self.model.default {
                    let message = format!("the default action is already given at {OTHER}");
                    self.tokens.reports.error_with(token.span.at, first, message).help =
                        "remove one of the two".to_owned();
                } else {
                    self.model.default = Some((verdict, token.span.at));
                }
                Ok(())
            }
            TokenKind::Sign(",") => {
                Err(Mistake::new(token.span.at, "`,` without a statement before it", "remove it"))
            }
            _ => {
                let mut statements = self.statement()?;
                while self.takes(TokenKind::Sign(",")) {
                    statements.append(&mut self.statement()?);
                }
                if let Some(main) = self.model.policies.first_mut() {
                    main.statements.append(&mut statements);
                }
                Ok(())
            }
        }
    }

    /// `#define NAME VALUE`, after the `#`.
    fn definition(&mut self, at: Place) -> Syntax<()> {
        let token = self.tokens.take();
        if self.text(token.span) == "include" {
            let message = "Kafel knows `#include` only without a blank between `#` and `include`";
            return Err(Mistake::new(at, message, "write #include \"FILE\""));
        }
        if token.kind != TokenKind::Keyword(Keyword::Define) {
            return Err(self.unexpected(
                token,
                "`define` or `include` after `#`",
                &["define", "include"],
            ));
        }
        let name = self.name("the defined name")?;
        let token = self.tokens.take();
        let word = self.text(token.span).to_owned();
        let value = match token.kind {
            TokenKind::Number(value) => Definition::Number(value),
            TokenKind::Name => match self.definitions.get(&word) {
                Some((definition, _)) => *definition,
                None if constants::is_name(&word) => Definition::Constant(token.span),
                None => {
                    let message = format!("`{}` is not a number", shorten(&word));
                    let near = self.tokens.reports.nearest(|| constants::nearest_name(&word));
                    let help = did_you_mean(near, "give a number or a constant of the kernel");
                    return Err(Mistake::new(token.span.at, message, help));
                }
            },
            _ => return Err(self.unexpected(token, "a number", &[])),
        };
        let text = self.text(name).to_owned();
        match self.definitions.get(&text).copied() {
            Some((first, place)) if !self.is_same(first, value) => {
                let message = format!("`{}` has another value at {OTHER}", shorten(&text));
                self.tokens.reports.error_with(at, place, message).help =
                    "use another name".to_owned();
            }
            Some(_) => {}
            None => drop(self.definitions.insert(text, (value, name.at))),
        }
        Ok(())
    }

    fn is_same(&self, a: Definition, b: Definition) -> bool {
        match (a, b) {
            (Definition::Number(a), Definition::Number(b)) => a == b,
            (Definition::Constant(a), Definition::Constant(b)) => self.text(a) == self.text(b),
            _ => false,
        }
    }

    /// The number of a defined name.
    pub(super) fn defined_number(&self, name: &str) -> Option<u64> {
        match self.definitions.get(name) {
            Some((Definition::Number(value), _)) => Some(*value),
            _ => None,
        }
    }

    /// `POLICY name { … }`, after the keyword.
    fn policy(&mut self) -> Syntax<()> {
        let name = self.name("the name of the policy")?;
        self.expect("{")?;
        let mut statements = Vec::new();
        if self.tokens.peek().kind != TokenKind::Sign("}") {
            statements = self.statement()?;
            loop {
                let token = self.tokens.peek();
                match token.kind {
                    TokenKind::Sign("}") => break,
                    TokenKind::Sign(",") => {
                        self.tokens.take();
                        if self.tokens.peek().kind == TokenKind::Sign("}") {
                            return Err(Mistake::new(token.span.at, "`,` before `}`", "remove it"));
                        }
                        statements.append(&mut self.statement()?);
                    }
                    TokenKind::Keyword(Keyword::Use) => return Err(self.missing_comma(token)),
                    _ if self.is_action() => return Err(self.missing_comma(token)),
                    _ => return Err(self.unexpected(token, "`,` or `}`", &[])),
                }
            }
        }
        self.tokens.take();
        let text = self.text(name).to_owned();
        let first = self.policies.get(&text).and_then(|index| self.model.policies.get(*index));
        if let Some(first) = first.and_then(|policy| policy.name) {
            let message = format!("policy `{}` is already defined at {OTHER}", shorten(&text));
            self.tokens.reports.error_with(name.at, first.at, message).help =
                "use another name".to_owned();
            return Ok(());
        }
        self.policies.insert(text, self.model.policies.len());
        self.model.policies.push(PolicyBody { name: Some(name), statements });
        Ok(())
    }

    fn missing_comma(&self, token: Token) -> Mistake {
        let message = format!("missing `,` before `{}`", self.text(token.span));
        Mistake::new(token.span.at, message, "statements of a policy are separated by commas")
    }

    /// `USE name` (more names may follow), or a block.
    fn statement(&mut self) -> Syntax<Vec<Statement>> {
        if !self.takes(TokenKind::Keyword(Keyword::Use)) {
            let verdict = self.action()?;
            return Ok(vec![self.block(verdict)?]);
        }
        let mut statements = Vec::new();
        loop {
            let name = self.name("the name of a policy")?;
            let text = self.text(name).to_owned();
            match self.policies.get(&text) {
                Some(policy) => statements.push(Statement::Use { policy: *policy, at: name.at }),
                // The policy may be missing because of a syntax error.
                None if self.is_broken => {}
                None => {
                    let message =
                        format!("policy `{}` is not defined before this place", shorten(&text));
                    let Tokens { sources, reports, .. } = &mut self.tokens;
                    let names = self.model.policies.iter().filter_map(|policy| policy.name);
                    let known = names.take(MAX_SIMILAR).map(|name| sources.text(name));
                    let near = reports.nearest(|| nearest(&text, known));
                    let help = did_you_mean(near, "define it before it is used");
                    self.tokens.reports.error(name.at, message).help = help;
                }
            }
            let is_list = self.tokens.peek().kind == TokenKind::Sign(",")
                && self.tokens.peek_at(1).kind == TokenKind::Name;
            if !is_list {
                return Ok(statements);
            }
            self.tokens.take();
        }
    }

    /// `{ syscall, … }` after an action.
    fn block(&mut self, verdict: Verdict) -> Syntax<Statement> {
        self.expect("{")?;
        let mut filters = Vec::new();
        if self.takes(TokenKind::Sign("}")) {
            return Ok(Statement::Block { verdict, filters });
        }
        loop {
            filters.push(self.filter()?);
            let token = self.tokens.take();
            match token.kind {
                TokenKind::Sign("}") => return Ok(Statement::Block { verdict, filters }),
                TokenKind::Sign(",") if self.tokens.peek().kind == TokenKind::Sign("}") => {
                    return Err(Mistake::new(token.span.at, "`,` before `}`", "remove it"));
                }
                TokenKind::Sign(",") => {}
                TokenKind::Name => {
                    let word = shorten(self.text(token.span));
                    let message = format!("missing `,` before `{word}`");
                    let help = "syscalls are separated by commas";
                    return Err(Mistake::new(token.span.at, message, help));
                }
                _ => return Err(self.unexpected(token, "`,` or `}`", &[])),
            }
        }
    }

    /// `{ expression }`
    pub(super) fn condition(&mut self) -> Syntax<Vec<Item>> {
        let mut expression = Expression::default();
        if !self.takes(TokenKind::Sign("{")) {
            return Ok(Vec::new());
        }
        loop {
            let token = self.tokens.take();
            match token.kind {
                TokenKind::Number(value) => {
                    expression.operand(Item { kind: ItemKind::Number(value), at: token.span })?;
                }
                TokenKind::Name => {
                    let definition = self.definitions.get(self.text(token.span));
                    let kind = match definition {
                        Some((Definition::Number(value), _)) => ItemKind::Defined(*value),
                        Some((Definition::Constant(name), _)) => ItemKind::Constant(*name),
                        None => ItemKind::Name,
                    };
                    expression.operand(Item { kind, at: token.span })?;
                }
                TokenKind::Variable { addend, is_complement } => {
                    let kind = ItemKind::Variable { addend, is_complement };
                    expression.operand(Item { kind, at: token.span })?;
                }
                TokenKind::Sign("}") if expression.is_empty() => return Ok(Vec::new()),
                TokenKind::Sign("}") => return expression.finish(token.span),
                TokenKind::Sign(_) if expression.sign(token)? => {}
                _ => return Err(self.unexpected(token, "an expression or `}`", &[])),
            }
            self.items += 1;
            if self.items > MAX_ITEMS {
                let message = format!("the expressions have more than {MAX_ITEMS} parts");
                return Err(self.stop(token.span.at, message));
            }
        }
    }

    /// A name that is not a keyword.
    pub(super) fn name(&mut self, what: &str) -> Syntax<Span> {
        let token = self.tokens.take();
        match token.kind {
            TokenKind::Name => Ok(token.span),
            TokenKind::Keyword(_) => {
                let word = self.text(token.span).to_owned();
                let message = format!("expected {what}, but found the keyword `{word}`");
                Err(Mistake::new(token.span.at, message, "use another name"))
            }
            _ => Err(self.unexpected(token, what, &[])),
        }
    }

    /// A sign.
    pub(super) fn expect(&mut self, sign: &'static str) -> Syntax<()> {
        let token = self.tokens.take();
        if token.kind == TokenKind::Sign(sign) {
            return Ok(());
        }
        Err(self.unexpected(token, &format!("`{sign}`"), &[]))
    }

    fn expected_action(&mut self) -> Mistake {
        let token = self.tokens.peek();
        let actions = KEYWORDS.iter().filter(|(_, keyword)| action(*keyword).is_some());
        let others = ["POLICY", "USE", "DEFAULT"];
        let known: Vec<&str> = actions.map(|(word, _)| *word).chain(others).collect();
        let wanted = "an action such as ALLOW, or USE, POLICY or DEFAULT";
        let mut mistake = self.unexpected(token, wanted, &known);
        if mistake.help.is_empty() && token.kind == TokenKind::Name {
            mistake.help = "the actions are ALLOW, LOG, ERRNO(n), KILL_PROCESS, KILL_THREAD, TRAP(n), TRACE(n) and \
                            USER_NOTIF"
                .to_owned();
        }
        mistake
    }

    /// The error for a token that is not what must stand there.
    pub(super) fn unexpected(&mut self, token: Token, wanted: &str, known: &[&str]) -> Mistake {
        let found = match token.kind {
            TokenKind::End => "the end of the text".to_owned(),
            _ => format!("`{}`", shorten(self.text(token.span))),
        };
        let text = self.text(token.span).to_owned();
        let search = || {
            nearest(&text.to_ascii_uppercase(), known.iter().copied())
                .or_else(|| nearest(&text, known.iter().copied()))
        };
        let near = (!known.is_empty()).then(|| self.tokens.reports.nearest(search)).flatten();
        let help = did_you_mean(near, "");
        Mistake::new(token.span.at, format!("expected {wanted}, but found {found}"), help)
    }

    /// The error for a limit, which ends the text.
    pub(super) fn stop(&mut self, at: Place, message: String) -> Mistake {
        while self.tokens.peek().kind != TokenKind::End {
            self.tokens.take();
        }
        Mistake::new(at, message, "split the policy, or write ranges instead of lists").too_large()
    }

    /// Takes the next token if it is of this kind.
    pub(super) fn takes(&mut self, kind: TokenKind) -> bool {
        let is_next = self.tokens.peek().kind == kind;
        if is_next {
            self.tokens.take();
        }
        is_next
    }

    /// Takes the comma between two items or the sign at their end; whether it is the end.
    pub(super) fn ends(&mut self, end: &'static str) -> Syntax<bool> {
        let token = self.tokens.take();
        match token.kind {
            TokenKind::Sign(sign) if sign == end => Ok(true),
            TokenKind::Sign(",") => Ok(false),
            _ => Err(self.unexpected(token, &format!("`,` or `{end}`"), &[])),
        }
    }

    pub(super) fn text(&self, span: Span) -> &str {
        self.tokens.sources.text(span)
    }
}

/// The largest number that an action takes; the field has 16 bits.
const MAX_DATA: u64 = 0xffff;
/// The largest error number that the kernel returns (`MAX_ERRNO`).
const MAX_ERRNO: u64 = 4095;

impl Parser<'_, '_> {
    /// Whether the next token starts an action.
    fn is_action(&mut self) -> bool {
        matches!(self.tokens.peek().kind, TokenKind::Keyword(keyword) if action(keyword).is_some())
    }

    /// An action.
    pub(super) fn action(&mut self) -> Syntax<Verdict> {
        let token = self.tokens.peek();
        let TokenKind::Keyword(keyword) = token.kind else { return Err(self.expected_action()) };
        match action(keyword) {
            Some(Action::Plain(verdict)) => {
                self.tokens.take();
                Ok(verdict)
            }
            Some(Action::WithNumber(make)) => {
                self.tokens.take();
                self.expect("(")?;
                let verdict = make(self.data(keyword)?);
                self.expect(")")?;
                Ok(verdict)
            }
            None => Err(self.expected_action()),
        }
    }

    /// The number of an action.
    fn data(&mut self, keyword: Keyword) -> Syntax<u16> {
        let token = self.tokens.take();
        let word = self.text(token.span).to_owned();
        let value = match token.kind {
            TokenKind::Number(value) => value,
            TokenKind::Name => match (self.defined_number(&word), errno_number(&word)) {
                (Some(value), _) => value,
                (None, Some(errno)) if keyword == Keyword::Errno => u64::from(errno),
                (None, _) => {
                    let shown = crate::diagnostics::quote::shorten(&word);
                    let help = if keyword == Keyword::Errno {
                        "give a number, the name of an error such as EPERM, or a defined name"
                    } else {
                        "give a number or a defined name"
                    };
                    let message = format!("`{shown}` is not a number");
                    return Err(Mistake::new(token.span.at, message, help));
                }
            },
            _ => {
                let message = "missing number of the action";
                return Err(Mistake::new(token.span.at, message, "write, for example, ERRNO(1)"));
            }
        };
        if keyword == Keyword::Errno && (MAX_ERRNO + 1..=MAX_DATA).contains(&value) {
            let message = format!(
                "error number {value} is more than {MAX_ERRNO}, so the kernel returns {MAX_ERRNO}"
            );
            self.tokens.reports.warn(token.span.at, message).help =
                format!("use a number up to {MAX_ERRNO}");
        }
        u16::try_from(value).or_else(|_| {
            let message = match value as i64 {
                negative @ ..0 => format!("the number {negative} is negative"),
                _ => format!("the number {value} is more than {MAX_DATA}"),
            };
            self.tokens.reports.error(token.span.at, message).help =
                format!("an action takes a number from 0 to {MAX_DATA}");
            Ok(0)
        })
    }
}

pub(super) enum Action {
    Plain(Verdict),
    WithNumber(fn(u16) -> Verdict),
}

pub(super) fn action(keyword: Keyword) -> Option<Action> {
    Some(match keyword {
        Keyword::Allow => Action::Plain(Verdict::ALLOW),
        Keyword::Log => Action::Plain(Verdict::LOG),
        Keyword::UserNotif => Action::Plain(Verdict::user_notif(0)),
        Keyword::KillProcess => Action::Plain(Verdict::KILL_PROCESS),
        Keyword::Kill => Action::Plain(Verdict::KILL_THREAD),
        Keyword::Errno => Action::WithNumber(Verdict::errno),
        Keyword::Trap => Action::WithNumber(Verdict::trap),
        Keyword::Trace => Action::WithNumber(Verdict::trace),
        _ => return None,
    })
}
