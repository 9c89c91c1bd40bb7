//! The functions of a text, which of them matter, and which makes the filter.

use std::collections::{BTreeSet, HashMap, HashSet};

use super::super::pairs::{MAX_DEPTH, Pairs};
use super::interface::Role;
use crate::advice::Advice;
use crate::cursor::Result;
use crate::diagnostic::{Diagnostic, Position, Topic, error};
use crate::token::{Token, quote};

/// A function of the text.
pub(super) struct Function<'a> {
    pub(super) name: &'a str,
    /// The tokens before its name.
    pub(super) head: (usize, usize),
    /// The tokens between its parentheses.
    pub(super) parameters: (usize, usize),
    /// The tokens between its braces; of the code outside functions, all of them.
    pub(super) bodies: Vec<(usize, usize)>,
    /// The functions that it calls by name.
    calls: HashSet<&'a str>,
    /// Whether it calls functions that matter, directly or through others.
    pub(super) matters: bool,
    /// The variables that it may change.
    pub(super) writes: BTreeSet<&'a str>,
    pub(super) position: Position,
}

/// The functions of a text. The first one is the code outside of all others.
pub(super) struct Outline<'t, 'a> {
    pub(super) pairs: &'t Pairs<'t, 'a>,
    pub(super) functions: Vec<Function<'a>>,
    by_name: HashMap<&'a str, usize>,
    /// What the functions of the library do.
    pub(super) role: fn(&str) -> Option<Role>,
}

/// The code outside functions.
pub(super) const OUTSIDE: usize = 0;
/// How often the functions that make a filter are replaced by their callers.
const MAX_CALLERS: usize = 16;

/// Words before a parenthesis that call no function.
fn is_word_of_c(word: &str) -> bool {
    matches!(
        word,
        "if" | "for" | "while" | "switch" | "return" | "sizeof" | "do" | "else" | "case" | "goto"
    )
}

impl<'t, 'a> Outline<'t, 'a> {
    pub(super) fn of(
        pairs: &'t Pairs<'t, 'a>,
        role: fn(&str) -> Option<Role>,
    ) -> Result<Outline<'t, 'a>> {
        check(pairs)?;
        let mut outline = Outline { pairs, functions: Vec::new(), by_name: HashMap::new(), role };
        let outside = outline.function("", [(0, 0); 2], Vec::new(), Position::START);
        outline.functions.push(outside);
        outline.find();
        for (at, function) in outline.functions.iter().enumerate().skip(1) {
            outline.by_name.insert(function.name, at);
        }
        outline.close();
        Ok(outline)
    }

    /// The function with a name.
    pub(super) fn named(&self, name: &str) -> Option<usize> {
        self.by_name.get(name).copied()
    }

    /// Whether a call of this name changes or installs a filter, directly or through other functions.
    pub(super) fn matters(&self, name: &str) -> bool {
        match self.named(name).and_then(|at| self.functions.get(at)) {
            Some(function) => function.matters,
            None => is_of_filter((self.role)(name)),
        }
    }

    fn function(
        &self,
        name: &'a str,
        [head, parameters]: [(usize, usize); 2],
        bodies: Vec<(usize, usize)>,
        position: Position,
    ) -> Function<'a> {
        let (mut calls, mut writes) = (HashSet::new(), BTreeSet::new());
        for (from, to) in &bodies {
            calls.extend(self.called(*from, *to).map(|(_, name)| name));
            writes.extend(self.written(*from, *to));
        }
        Function { name, head, parameters, bodies, calls, matters: false, writes, position }
    }

    /// The names before parentheses.
    pub(super) fn called(&self, from: usize, to: usize) -> impl Iterator<Item = (usize, &'a str)> {
        let pairs = self.pairs;
        (from..to.min(pairs.tokens().len())).filter_map(move |at| {
            let token = pairs.get(at)?;
            let is_call = token.is_name() && pairs.is(at + 1, '(') && !is_word_of_c(token.text);
            is_call.then_some((at, token.text))
        })
    }

    /// The names of variables that a part of the text assigns, or takes the address of.
    pub(super) fn written(&self, from: usize, to: usize) -> impl Iterator<Item = &'a str> {
        let to = to.min(self.pairs.tokens().len());
        (from..to).filter_map(move |at| {
            let token = self.pairs.get(at).filter(|token| token.is_name())?;
            (!self.pairs.is_member(at) && self.is_written(at, to)).then_some(token.text)
        })
    }

    fn is_written(&self, at: usize, to: usize) -> bool {
        let pairs = self.pairs;
        let before = |distance, mark| pairs.is_before(at, distance, mark);
        let has_operand = || {
            pairs.before(at, 2).is_some_and(|token| {
                token.is_number()
                    || token.is_any(")]")
                    || (token.is_name() && token.text != "return")
            })
        };
        if (before(1, '+') && before(2, '+')) || (before(1, '-') && before(2, '-')) {
            return true;
        }
        if before(1, '&') && !before(2, '&') && !has_operand() {
            return true;
        }
        // `int x = 1`, `char *x = y` declare another variable.
        let stars = (1..).take_while(|distance| before(*distance, '*')).count();
        let is_declared = pairs
            .before(at, 1 + stars)
            .is_some_and(|word| word.is_name() && !is_word_of_c(word.text));
        if is_declared {
            return false;
        }
        let mut next = at + 1;
        while next < to {
            next = match pairs.partner(next) {
                Some(close) if pairs.is(next, '[') && close > next => close + 1,
                _ if pairs.is(next, '.') => next + 2,
                _ if pairs.is(next, '-') && pairs.is(next + 1, '>') => next + 3,
                _ => break,
            };
        }
        let is = |distance, mark| pairs.is(next + distance, mark);
        let is_any =
            |distance, marks| pairs.get(next + distance).is_some_and(|token| token.is_any(marks));
        (is(0, '=') && !is(1, '='))
            || (is_any(0, "+-*/%&|^") && is(1, '='))
            || (is_any(0, "<>") && is_any(1, "<>") && is(2, '='))
            || (is(0, '+') && is(1, '+'))
            || (is(0, '-') && is(1, '-'))
    }

    /// Finds the functions, and the code between them.
    fn find(&mut self) {
        let pairs = self.pairs;
        let end = pairs.tokens().len();
        let (mut at, mut start, mut heads) = (0, 0, Vec::new());
        // The last pair of parentheses with a name before it since the last declaration ended.
        let mut parameters: Option<(usize, usize)> = None;
        let mut has_value = false;
        while at < end {
            let partner = pairs.partner(at).filter(|partner| *partner > at);
            match (pairs.get(at), partner) {
                (Some(token), Some(close)) if token.is('(') => {
                    let name = pairs.before(at, 1).filter(|name| name.is_name());
                    let is_name = |name: &&Token<'_>| {
                        !name.text.contains("attribute")
                            && !is_word_of_c(name.text)
                            && !matches!(
                                name.text,
                                "__declspec" | "noexcept" | "typeof" | "__typeof__"
                            )
                    };
                    if name.filter(is_name).is_some() {
                        parameters = Some((at, close));
                    }
                    at = close + 1;
                }
                (Some(token), Some(close)) if token.is('{') => {
                    let head = pairs.slice(start, at);
                    let is_space = matches!(head, [first, ..] if first.text == "namespace")
                        || matches!(head, [first, second] if first.text == "extern" && second.is('"'));
                    match parameters.take().filter(|_| !has_value) {
                        Some((open, to)) if !is_head_of_statement(head) => {
                            let name = pairs.before(open, 1).map_or("", |name| name.text);
                            let position = token.position;
                            heads.push(start);
                            let parts = [(start, open.saturating_sub(1)), (open + 1, to)];
                            let found = self.function(name, parts, vec![(at + 1, close)], position);
                            self.functions.push(found);
                            at = close + 1;
                            start = at;
                        }
                        _ if is_space => {
                            at += 1;
                            start = at;
                        }
                        _ => at = close + 1,
                    }
                }
                (Some(token), Some(close)) if token.is('[') => at = close + 1,
                (Some(token), _) => {
                    has_value |= token.is('=');
                    at += 1;
                    if token.is(';') || token.is('}') {
                        (start, parameters, has_value) = (at, None, false);
                    }
                }
                (None, _) => break,
            }
        }
        // What is between the functions.
        let mut bodies = Vec::new();
        let mut from = 0;
        let ends: Vec<usize> = self
            .functions
            .iter()
            .skip(1)
            .filter_map(|function| function.bodies.first().map(|(_, close)| close + 1))
            .collect();
        for (head, end) in heads.iter().zip(&ends) {
            bodies.push((from, *head));
            from = *end;
        }
        bodies.push((from, end));
        bodies.retain(|(from, to)| from < to);
        let all = self.function("", [(0, 0); 2], bodies, Position::START);
        if let Some(outside) = self.functions.first_mut() {
            *outside = all;
        }
    }

    /// Completes what functions do with what they do through others.
    fn close(&mut self) {
        let role = self.role;
        let mut callers: HashMap<&'a str, Vec<usize>> = HashMap::new();
        for (at, function) in self.functions.iter().enumerate() {
            for name in &function.calls {
                if self.by_name.contains_key(name) {
                    callers.entry(name).or_default().push(at);
                }
            }
        }
        let is_direct = |function: &Function<'a>, by_name: &HashMap<&'a str, usize>| {
            let mut others = function.calls.iter().filter(|name| !by_name.contains_key(*name));
            others.any(|name| is_of_filter(role(name)))
        };
        let mut open: Vec<usize> = Vec::new();
        for (at, function) in self.functions.iter_mut().enumerate() {
            function.matters = is_direct(function, &self.by_name);
            if function.matters {
                open.push(at);
            }
        }
        while let Some(at) = open.pop() {
            let name = self.functions.get(at).map_or("", |function| function.name);
            for caller in callers.get(name).into_iter().flatten() {
                if let Some(function) = self.functions.get_mut(*caller).filter(|one| !one.matters) {
                    function.matters = true;
                    open.push(*caller);
                }
            }
        }
    }

    /// The variables that a function may change, also through others.
    pub(super) fn all_written(&self, function: usize) -> BTreeSet<&'a str> {
        let reached = self.reached(&[function]);
        let reached = reached.iter().filter_map(|at| self.functions.get(*at));
        reached.flat_map(|function| function.writes.iter().copied()).collect()
    }

    /// The functions that these call, directly or through others, and these.
    pub(super) fn reached(&self, from: &[usize]) -> BTreeSet<usize> {
        let mut reached: BTreeSet<usize> = from.iter().copied().collect();
        let mut open: Vec<usize> = from.to_vec();
        while let Some(at) = open.pop() {
            let calls = self.functions.get(at).into_iter().flat_map(|function| &function.calls);
            for callee in calls.filter_map(|name| self.named(name)) {
                if reached.insert(callee) {
                    open.push(callee);
                }
            }
        }
        reached
    }

    /// The functions that call another one by its name.
    pub(super) fn callers(&self, of: usize) -> Vec<usize> {
        let name = self.functions.get(of).map_or("", |function| function.name);
        let is_caller = |(at, function): &(usize, &Function<'a>)| {
            *at != of && *at != OUTSIDE && function.calls.contains(name)
        };
        self.functions.iter().enumerate().filter(is_caller).map(|(at, _)| at).collect()
    }

    /// Whether a function itself has a call with one of these roles; where the first one is.
    fn has(&self, function: usize, is_role: fn(Role) -> bool) -> Option<Position> {
        let function = self.functions.get(function)?;
        let mut calls = function.bodies.iter().flat_map(|(from, to)| self.called(*from, *to));
        let found = calls.find(|(_, name)| {
            self.named(name).is_none() && (self.role)(name).is_some_and(is_role)
        })?;
        self.pairs.get(found.0).map(|token| token.position)
    }

    /// Whether a function installs a filter, directly or through others.
    pub(super) fn installs(&self, function: usize) -> bool {
        let is_role = |role: Role| role == Role::Installs;
        self.reached(&[function]).into_iter().any(|at| self.has(at, is_role).is_some())
    }

    /// The functions that make filters, each with all that the text adds to it; or why there is none.
    ///
    /// # Errors
    /// If the text does not show when a function is called that adds to a filter.
    pub(super) fn makers(&self) -> Result<std::result::Result<Vec<usize>, Diagnostic>> {
        let count = self.functions.len();
        let begins = |role: Role| role == Role::Begins;
        let mut makers: Vec<usize> =
            (0..count).filter(|at| self.has(*at, begins).is_some()).collect();
        let changes = |role: Role| role == Role::Changes;
        let Some(_) = makers.first() else {
            let first = (0..count).find_map(|at| self.has(at, |role: Role| role != Role::Neutral));
            let message = "the text begins no filter";
            let help = "give the file with the call that makes the context as well";
            return Ok(Err(
                error(first.unwrap_or(Position::START), message).help(Advice::ReadProcessOr(help))
            ));
        };
        if makers.contains(&OUTSIDE) {
            return Ok(Ok(vec![OUTSIDE]));
        }
        let is_either = |role: Role| matches!(role, Role::Changes | Role::Installs);
        let changing: Vec<(usize, Position)> =
            (1..count).filter_map(|at| Some((at, self.has(at, is_either)?))).collect();
        for _ in 0..MAX_CALLERS {
            let reached = self.reached(&makers);
            let is_orphan = |at: usize| !reached.contains(&at);
            if !changing.iter().any(|(at, _)| is_orphan(*at)) {
                break;
            }
            let or_itself = |maker: &usize| match self.callers(*maker) {
                callers if callers.is_empty() => vec![*maker],
                callers => callers,
            };
            let lifted: BTreeSet<usize> = makers.iter().flat_map(or_itself).collect();
            let lifted: Vec<usize> = lifted.into_iter().collect();
            if lifted == makers {
                // A filter may be installed elsewhere; it is complete before that.
                let orphans = changing.iter().filter(|(at, _)| is_orphan(*at));
                let mut orphans = orphans.filter_map(|(at, _)| Some((at, self.has(*at, changes)?)));
                let Some((orphan, position)) = orphans.next() else { break };
                let name = self.functions.get(*orphan).map_or("", |function| function.name);
                let message = format!(
                    "{} changes a filter, but the text does not show when it is called",
                    quote(name)
                );
                let help = "give the text with its callers";
                return Err(error(position, message).help(Advice::ReadProcessOr(help)));
            }
            makers = lifted;
        }
        // One that another one calls is a part of it.
        let is_part = |maker: &usize| {
            let others: Vec<usize> =
                makers.iter().copied().filter(|other| other != maker).collect();
            self.reached(&others).contains(maker)
                && !self.reached(&[*maker]).iter().any(|at| others.contains(at))
        };
        let kept: Vec<usize> = makers.iter().copied().filter(|maker| !is_part(maker)).collect();
        Ok(Ok(kept))
    }
}

/// Whether a role is about a filter.
fn is_of_filter(role: Option<Role>) -> bool {
    role.is_some_and(|role| role != Role::Neutral)
}

/// Whether tokens before a brace begin a statement or a type, not a function.
fn is_head_of_statement(head: &[Token<'_>]) -> bool {
    head.first().is_none_or(|first| {
        matches!(
            first.text,
            "if" | "for" | "while" | "switch" | "do" | "else" | "typedef" | "class" | "@"
        )
    })
}

/// An error if brackets do not fit together, or are nested too deep.
fn check(pairs: &Pairs<'_, '_>) -> Result<()> {
    let position = |at: usize| pairs.get(at).map_or(Position::START, |token| token.position);
    if let Some(at) = pairs.too_deep() {
        let message = format!("brackets are nested more than {MAX_DEPTH} times here, the limit");
        return Err(error(position(at), message)
            .help("check that this is the right file")
            .topic(Topic::TooLarge));
    }
    let is_alone = |at: &usize| {
        pairs.get(*at).is_some_and(|token| token.is_any("(){}[]")) && pairs.partner(*at).is_none()
    };
    match (0..pairs.tokens().len()).find(is_alone) {
        None => Ok(()),
        Some(at) => {
            let text = pairs.get(at).map_or("", |token| token.text);
            let message = format!("{} has no partner in this text", quote(text));
            Err(error(position(at), message).help("add the rest of the text"))
        }
    }
}

/// The error for a text with several functions that make filters.
pub(super) fn several(names: &[&str], choosing: fn(&str) -> String) -> Diagnostic {
    let listed: Vec<String> = names.iter().take(8).map(|name| quote(name)).collect();
    let more = if names.len() > listed.len() { ", …" } else { "" };
    let message = format!("several functions make a filter: {}{more}", listed.join(", "));
    Diagnostic::error(None, message).help(choosing(names.first().copied().unwrap_or_default()))
}
