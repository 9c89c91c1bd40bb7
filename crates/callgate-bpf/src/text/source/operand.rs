//! What an expression in C does with one of its operands, such as the name of an array: the operators around it, from the
//! inside out.

use std::ops::ControlFlow;

use super::changed::{is_assignment, is_field};
use super::language::is_statement;
use super::pairs::{Pairs, is_cast, is_size};
use crate::token::{Token, TokenKind, starts};

/// What a part of an expression is, seen from the array.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Value {
    /// The array, or a pointer into it.
    Pointer,
    /// The address of the variable that is the array or points to it.
    Address,
    /// One of the elements, or of what it consists of.
    Element,
}

/// What is done with an operand.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Use<'a> {
    /// Nothing that may change what it is or points to.
    Read,
    /// An element is changed.
    Store,
    /// An assignment or an initializer, whose `=` is here, copies a pointer.
    Copied(usize, Value),
    /// It is an element, without a name, of the initializer that this brace begins.
    Listed(usize),
    /// It is an argument of a function.
    Passed { function: &'a str, nth: usize },
    /// Something else.
    Other,
}

/// A part of an expression, from its first token up to the one after the last.
pub(super) struct Operand<'p, 't, 'a> {
    pub(super) pairs: &'p Pairs<'t, 'a>,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) value: Value,
    /// Whether a pointer was moved, so that it may point to another element than the first one.
    pub(super) is_moved: bool,
    /// Whether an element may be given on as a reference, as in C++ and to assembly.
    pub(super) has_references: bool,
}

type Step<'a> = Option<ControlFlow<Use<'a>>>;

impl<'t, 'a> Operand<'_, 't, 'a> {
    fn before(&self, distance: usize) -> Option<&Token<'a>> {
        self.pairs.before(self.start, distance)
    }

    fn after(&self, distance: usize) -> Option<&Token<'a>> {
        self.pairs.get(self.end + distance)
    }

    fn is_before(&self, distance: usize, mark: char) -> bool {
        self.pairs.is_before(self.start, distance, mark)
    }

    fn is_after(&self, distance: usize, mark: char) -> bool {
        self.pairs.is(self.end + distance, mark)
    }

    fn is_before_any(&self, distance: usize, marks: &str) -> bool {
        self.before(distance).is_some_and(|token| token.is_any(marks))
    }

    fn is_after_any(&self, distance: usize, marks: &str) -> bool {
        self.after(distance).is_some_and(|token| token.is_any(marks))
    }

    /// The tokens after the operand.
    fn rest(&self) -> &'t [Token<'a>] {
        self.pairs.slice(self.end, usize::MAX)
    }

    /// Whether what is so far before the operand ends another one, so that an operator between them has two.
    fn is_binary(&self, distance: usize) -> bool {
        self.before(distance).is_some_and(|token| match token.kind {
            TokenKind::Word => !is_statement(token.text) && !is_size(token.text),
            TokenKind::Number(_) => true,
            TokenKind::Mark(')') => !self.is_after_cast(distance) && !self.is_after_head(distance),
            TokenKind::Mark(mark) => mark == ']',
            TokenKind::LineEnd => false,
        })
    }

    /// The parenthesis that the one at a distance before the operand closes.
    fn open_before(&self, distance: usize) -> Option<usize> {
        self.pairs.partner(self.start.checked_sub(distance)?)
    }

    /// Whether the parenthesis at a distance closes a cast.
    fn is_after_cast(&self, distance: usize) -> bool {
        let Some(open) = self.open_before(distance) else { return false };
        let inside = self.pairs.slice(open + 1, self.start - distance);
        is_cast(inside) && !self.pairs.before(open, 1).is_some_and(is_name)
    }

    /// Whether the parenthesis at a distance closes the condition of a statement.
    fn is_after_head(&self, distance: usize) -> bool {
        let word = self.open_before(distance).and_then(|open| self.pairs.before(open, 1));
        word.is_some_and(|word| matches!(word.text, "if" | "while" | "for" | "switch"))
    }

    /// What is done with it, and whether a pointer was moved before.
    pub(super) fn judge(mut self) -> (Use<'a>, bool) {
        // Each step makes the operand longer, or ends it.
        for _ in 0..MAX_STEPS {
            if let Some(end) = self.step() {
                return (end, self.is_moved);
            }
        }
        (Use::Other, self.is_moved)
    }

    /// Follows the operator around it; `None` if the result of that is another operand.
    fn step(&mut self) -> Option<Use<'a>> {
        let before = |at| self.before(at).map_or("", |token| token.text);
        if is_size(before(1)) || (self.is_before(1, '(') && is_size(before(2))) {
            return Some(Use::Read);
        }
        match self.postfix().or_else(|| self.prefix()).or_else(|| self.around()) {
            Some(ControlFlow::Continue(())) => return None,
            Some(ControlFlow::Break(end)) => return Some(end),
            None => {}
        }
        let is_assigned = is_assignment(self.rest());
        // `p += 1`, whose value is a pointer, too.
        let is_compound = is_assigned && !self.is_after(0, '=');
        self.is_moved |= is_compound;
        Some(match (is_assigned, self.value) {
            (true, Value::Element) => Use::Store,
            (true, _) if is_compound && (!self.starts_statement() || self.is_returned()) => {
                Use::Other
            }
            (true, _) => Use::Read,
            (false, Value::Element) if self.has_references && self.may_be_referenced() => {
                Use::Other
            }
            (false, Value::Element) if self.is_assigned_around() => Use::Other,
            (false, Value::Element) => Use::Read,
            (false, _) => self.pointer(),
        })
    }

    /// Whether an element is one of several that are assigned to, as in C++: `(x ? f[0] : f[1]) = y`.
    fn is_assigned_around(&self) -> bool {
        let open = self.pairs.enclosing(self.start).filter(|open| self.pairs.is(*open, '('));
        let close = open.and_then(|open| self.pairs.partner(open));
        let after = close.map(|close| self.pairs.slice(close + 1, close + 4));
        self.is_before_any(1, "?:,") && after.is_some_and(is_assignment)
    }

    /// Whether an element may become a reference: `auto &x = f[0]`, `std::swap(f[0], f[1])`. An operand of an operator that
    /// computes with its value does not.
    fn may_be_referenced(&self) -> bool {
        const COMPUTES: &str = "+-*/%<|^!~";
        let is_compared = self.is_before(1, '=') && self.is_before_any(2, "=!");
        let is_tested = self.is_after_any(0, "=>&");
        let is_computed = self.is_before_any(1, COMPUTES) || self.is_after_any(0, COMPUTES);
        if is_computed || is_compared || is_tested {
            return false;
        }
        // `x = f[0]`, but not `auto &[a, b, c, d] = f[0]`
        let is_value = self.is_before(1, '=')
            && self.before(2).is_some_and(|name| name.is_name())
            && !self.is_before(3, '&');
        let is_condition = self.is_before(1, '(')
            && self.is_after(0, ')')
            && self.before(2).is_some_and(|word| matches!(word.text, "if" | "while" | "switch"));
        let is_whole = self.starts_statement() && self.is_after(0, ';');
        let is_read = is_value && self.is_after(0, ';');
        !(is_read || is_condition || is_whole)
    }

    /// Whether a statement or a clause of `for` begins here, whose value is not used.
    fn starts_statement(&self) -> bool {
        let is_start = self
            .before(1)
            .is_none_or(|token| token.is_any(";{},") || matches!(token.text, "else" | "do"));
        let open = self.pairs.enclosing(self.start);
        let is_for = self.is_head_of_for(open);
        (is_start
            || (self.is_before(1, '(') && is_for)
            || (self.is_before(1, ')') && self.is_after_head(1)))
            && (is_for || open.is_none_or(|open| self.pairs.is_block(open)))
    }

    fn is_head_of_for(&self, open: Option<usize>) -> bool {
        open.and_then(|open| self.pairs.before(open, 1)).is_some_and(|word| word.text == "for")
    }

    /// Makes the operand longer by this number of tokens.
    fn grow(&mut self, before: usize, after: usize) -> Step<'a> {
        self.start -= before;
        self.end += after;
        Some(ControlFlow::Continue(()))
    }

    /// The operand is that of `++` or `--`.
    fn increment(&mut self, before: usize, after: usize) -> Step<'a> {
        if self.value == Value::Element {
            return Some(ControlFlow::Break(Use::Store));
        }
        self.is_moved = true;
        self.grow(before, after)
    }

    /// The operators after it, which come first.
    fn postfix(&mut self) -> Step<'a> {
        if self.is_after(0, '[') {
            self.end = self.pairs.partner(self.end)? + 1;
            self.value = Value::Element;
            return self.grow(0, 0);
        }
        let rest = self.rest();
        let dots = if starts(rest, "->") { 2 } else { usize::from(starts(rest, ".")) };
        if let (1.., Some(name)) = (dots, self.after(dots)) {
            self.value = if is_field(name.text) { Value::Element } else { Value::Pointer };
            return self.grow(0, dots + 1);
        }
        let has_operand = self
            .after(2)
            .is_some_and(|token| token.is_name() || token.is_number() || token.is('('));
        if (starts(rest, "++") || starts(rest, "--")) && !has_operand {
            return self.increment(0, 2);
        }
        None
    }

    /// The operators before it.
    fn prefix(&mut self) -> Step<'a> {
        let is_twice = |sign| self.is_before(1, sign) && self.is_before(2, sign);
        if (is_twice('+') || is_twice('-')) && !self.is_binary(3) {
            return self.increment(2, 0);
        }
        if self.is_before(1, '*') && (self.value != Value::Element || !self.is_binary(2)) {
            let is_array = self.value == Value::Address;
            self.value = if is_array { Value::Pointer } else { Value::Element };
            return self.grow(1, 0);
        }
        if self.is_before(1, '&') && !self.is_before(2, '&') && !self.is_binary(2) {
            let is_element = self.value == Value::Element;
            self.value = if is_element { Value::Pointer } else { Value::Address };
            return self.grow(1, 0);
        }
        if self.is_before(1, ')') && self.is_after_cast(1) {
            self.start = self.open_before(1)?;
            return self.grow(0, 0);
        }
        None
    }

    /// Arithmetic with pointers, and parentheses.
    fn around(&mut self) -> Step<'a> {
        if self.value != Value::Element {
            if self.is_after_any(0, "+-") && !self.is_after(1, '=') {
                self.is_moved = true;
                let end = self.pairs.skip(self.end + 1, NEAR, ends_sum);
                return match end - self.end {
                    more if more > NEAR => Some(ControlFlow::Break(Use::Other)),
                    more => self.grow(0, more),
                };
            }
            if self.is_before_any(1, "+-") && self.is_binary(2) {
                if self.is_before(1, '-') {
                    return Some(ControlFlow::Break(Use::Read));
                }
                self.is_moved = true;
                let start = self.pairs.skip_back(self.start - 1, NEAR, ends_sum);
                return match self.start - start {
                    more if more > NEAR => Some(ControlFlow::Break(Use::Other)),
                    more => self.grow(more, 0),
                };
            }
        }
        // `0[f]` is `f[0]`.
        if self.value == Value::Pointer && self.is_before(1, '[') && self.is_after(0, ']') {
            self.start = self.start.checked_sub(2)?;
            self.value = Value::Element;
            return self.grow(0, 1);
        }
        let is_enclosed = self.is_before(1, '(') && self.is_after(0, ')');
        let caller = self.before(2).is_some_and(|word| {
            is_name(word)
                // Template arguments: `static_cast<char *>(f)`.
                || word.is_any("]>")
                || (word.is(')') && !self.is_after_cast(2) && !self.is_after_head(2))
        });
        if is_enclosed && !caller {
            return self.grow(1, 1);
        }
        None
    }

    /// What is done with a pointer that no operator changes.
    fn pointer(&self) -> Use<'a> {
        let is_comparison = |from| {
            let tokens = self.pairs.slice(from, from.saturating_add(2));
            let signs = ["<", ">", "==", "!=", "&&", "||"];
            signs.iter().any(|signs| starts(tokens, signs))
        };
        // The value of `f ?: o` may be the pointer.
        let is_condition = self.is_after(0, '?') && !self.is_after(1, ':');
        if self.is_before(1, '!')
            || is_condition
            || is_comparison(self.end)
            || (self.is_before_any(1, "=&|") && is_comparison(self.start.wrapping_sub(2)))
            || self.is_before_any(1, "<>")
        {
            return Use::Read;
        }
        if self.is_before(1, '=') {
            return match self.is_whole_assignment() {
                true => Use::Copied(self.start - 1, self.value),
                false => Use::Other,
            };
        }
        if self.is_after(0, ';') {
            let is_statement = self.starts_statement() && !self.is_returned();
            // Otherwise the condition of a `for`, or a list of declarations.
            let is_listed = self.is_before(1, ',') && self.pairs.enclosing(self.start).is_none();
            return if is_statement || is_listed { Use::Read } else { Use::Other };
        }
        let is_item = self.is_before_any(1, ",({");
        let open = self.pairs.enclosing(self.start);
        let Some(open) = open.filter(|_| is_item) else {
            // A list of declarations.
            let is_listed = open.is_none() && self.is_before(1, ',') && self.is_after(0, ',');
            return if is_listed { Use::Read } else { Use::Other };
        };
        if self.pairs.is(open, '{') {
            return match (self.pairs.is_block(open), self.is_after_any(0, ",}")) {
                (true, _) if self.is_after(0, ',') && !self.is_returned() => Use::Read,
                (false, true) => Use::Listed(open),
                _ => Use::Other,
            };
        }
        match self.pairs.before(open, 1) {
            Some(word)
                if self.pairs.is(open, '(') && word.is_name() && self.is_after_any(0, ",)") =>
            {
                match word.text {
                    "if" | "while" | "switch" => Use::Read,
                    function if !is_statement(function) => {
                        Use::Passed { function, nth: self.pairs.commas(self.start) }
                    }
                    _ => Use::Other,
                }
            }
            _ => Use::Other,
        }
    }

    /// Whether the value of a list of expressions is that of the function: `return x, f;`.
    fn is_returned(&self) -> bool {
        let from = self.pairs.skip_back(self.start, NEAR, ends_statement);
        self.start - from >= NEAR
            || self.pairs.slice(from, self.start).iter().any(|word| is_result(word.text))
    }

    /// Whether the assignment whose right side this is has a value that nothing uses: a statement, an initializer, or a
    /// clause of `for`.
    fn is_whole_assignment(&self) -> bool {
        let equals = self.start - 1;
        let from = self.pairs.skip_back(equals, NEAR, ends_target);
        let target = self.pairs.slice(from, equals);
        if target.len() >= NEAR || target.iter().any(|word| is_result(word.text)) {
            return false;
        }
        let before = self.pairs.before(from, 1);
        let open = self.pairs.enclosing(self.start);
        let follows = |marks: &str| before.is_none_or(|before| before.is_any(marks));
        let is_brace = open.is_some_and(|open| self.pairs.is(open, '{'));
        if target.first().is_some_and(|first| first.is_any(".[")) {
            // A designator.
            return is_brace && follows("{,") && self.is_after_any(0, ",}");
        }
        if self.is_head_of_for(open) {
            return follows(";(,") && self.is_after_any(0, ";),");
        }
        open.is_none_or(|open| self.pairs.is_block(open))
            && (follows(";{},") || (follows(":") && !self.has_references))
            && self.is_after_any(0, ";,")
    }
}

/// How many tokens an operand or the target of an assignment may have.
const NEAR: usize = 256;

/// Words whose operand is the result of something.
fn is_result(word: &str) -> bool {
    matches!(word, "return" | "case" | "throw" | "co_return" | "co_yield" | "goto")
}

fn ends_statement(token: &Token<'_>) -> bool {
    token.is_any(";{}(")
}

fn ends_target(token: &Token<'_>) -> bool {
    token.is_any(",=?:") || ends_statement(token)
}

/// How many operators may be around an operand.
const MAX_STEPS: usize = 100;

/// Whether parentheses after this word are those of a function or of a statement, not of an expression.
fn is_name(word: &Token<'_>) -> bool {
    word.is_name() && word.text != "return" && word.text != "case"
}

/// What ends a sum.
fn ends_sum(token: &Token<'_>) -> bool {
    token.is_any(",;()[]{}=?:<>!&|") || token.text == "return"
}
