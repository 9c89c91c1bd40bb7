//! What an expression in C does with one of its operands, such as the name of an array: the operators around it, from the
//! inside out.

use std::ops::ControlFlow;

use super::changed::is_assignment;
use super::pairs::Pairs;
use crate::lexer::{Token, TokenKind};

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

/// The fields of an instruction.
const FIELDS: [&str; 4] = ["code", "jt", "jf", "k"];

/// Words whose operands are not evaluated.
fn is_size(word: &str) -> bool {
    matches!(word.trim_matches('_'), "sizeof" | "typeof" | "typeof_unqual" | "alignof" | "Alignof")
}

/// Words before an expression, which are not the type of a declaration or the name of a function.
pub(super) fn is_statement(word: &str) -> bool {
    const WORDS: [&str; 11] = [
        "if", "else", "while", "for", "do", "switch", "case", "default", "goto", "return", "throw",
    ];
    WORDS.contains(&word)
}

/// Whether tokens between parentheses are the name of a type.
pub(super) fn is_type_name(tokens: &[Token<'_>]) -> bool {
    let Some((first, rest)) = tokens.split_first() else { return false };
    let is_part = |token: &Token<'_>| {
        token.kind == TokenKind::Word || [':', '*', '[', ']'].iter().any(|mark| token.is(*mark))
    };
    let is_alone = rest.is_empty() && !first.text.ends_with("_t");
    let known = ["char", "short", "int", "long", "unsigned", "signed", "void", "auto"];
    first.kind == TokenKind::Word
        && (!is_alone || known.contains(&first.text) || first.text.starts_with(['u', '_']))
        && tokens.iter().all(is_part)
        && !is_size(first.text)
}

/// A part of an expression, from its first token up to the one after the last.
pub(super) struct Operand<'p, 't, 'a> {
    pub(super) pairs: &'p Pairs<'t, 'a>,
    pub(super) start: usize,
    pub(super) end: usize,
    pub(super) value: Value,
    /// Whether a pointer was moved, so that it may point to another element than the first one.
    pub(super) is_moved: bool,
}

impl<'a> Operand<'_, '_, 'a> {
    fn before(&self, distance: usize) -> Option<&Token<'a>> {
        self.pairs.get(self.start.checked_sub(distance)?)
    }

    fn after(&self, distance: usize) -> Option<&Token<'a>> {
        self.pairs.get(self.end + distance)
    }

    fn is_before(&self, distance: usize, mark: char) -> bool {
        self.before(distance).is_some_and(|token| token.is(mark))
    }

    fn is_after(&self, distance: usize, mark: char) -> bool {
        self.after(distance).is_some_and(|token| token.is(mark))
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
        let caller = open.checked_sub(1).and_then(|at| self.pairs.get(at));
        let is_call = caller.is_some_and(|word| {
            word.kind == TokenKind::Word && word.text != "return" && word.text != "case"
        });
        is_type_name(inside) && !is_call
    }

    /// Whether the parenthesis at a distance closes the condition of a statement.
    fn is_after_head(&self, distance: usize) -> bool {
        let word = self.open_before(distance).and_then(|open| self.pairs.get(open.checked_sub(1)?));
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
        let rest = self.pairs.slice(self.end, usize::MAX);
        let is_assigned = is_assignment(rest);
        // `p += 1`
        self.is_moved |= is_assigned && !self.is_after(0, '=');
        Some(match (is_assigned, self.value) {
            (true, Value::Element) => Use::Store,
            (false, Value::Element) if self.is_referenced() => Use::Other,
            (true, _) | (false, Value::Element) => Use::Read,
            (false, _) => self.pointer(),
        })
    }

    /// Whether C++ may take a reference to an element: `auto &x = f[0]`, `std::swap(f[0], f[1])`.
    fn is_referenced(&self) -> bool {
        let open = self.pairs.enclosing(self.start);
        let is_qualified = open.and_then(|open| open.checked_sub(3)).is_some_and(|at| {
            let colons = self.pairs.slice(at, at + 2);
            colons.len() == 2 && colons.iter().all(|colon| colon.is(':'))
        });
        is_qualified || (self.is_before(1, '=') && self.is_before(3, '&'))
    }

    /// The operators after it, which come first.
    fn postfix(&mut self) -> Option<ControlFlow<Use<'a>>> {
        if self.is_after(0, '[') {
            self.end = self.pairs.partner(self.end)? + 1;
            self.value = Value::Element;
            return Some(ControlFlow::Continue(()));
        }
        let dots = match () {
            () if self.is_after(0, '.') => 1,
            () if self.is_after(0, '-') && self.is_after(1, '>') => 2,
            () => 0,
        };
        if let (1.., Some(name)) = (dots, self.after(dots)) {
            let is_field = FIELDS.contains(&name.text);
            self.value = if is_field { Value::Element } else { Value::Pointer };
            self.end += dots + 1;
            return Some(ControlFlow::Continue(()));
        }
        let is_step =
            ['+', '-'].iter().any(|sign| self.is_after(0, *sign) && self.is_after(1, *sign));
        let has_operand = self.after(2).is_some_and(|token| {
            matches!(token.kind, TokenKind::Word | TokenKind::Number(_)) || token.is('(')
        });
        if is_step && !has_operand {
            if self.value == Value::Element {
                return Some(ControlFlow::Break(Use::Store));
            }
            self.is_moved = true;
            self.end += 2;
            return Some(ControlFlow::Continue(()));
        }
        None
    }

    /// The operators before it.
    fn prefix(&mut self) -> Option<ControlFlow<Use<'a>>> {
        let is_step =
            ['+', '-'].iter().any(|sign| self.is_before(1, *sign) && self.is_before(2, *sign));
        if is_step && !self.is_binary(3) {
            if self.value == Value::Element {
                return Some(ControlFlow::Break(Use::Store));
            }
            self.is_moved = true;
            self.start -= 2;
            return Some(ControlFlow::Continue(()));
        }
        if self.is_before(1, '*') && (self.value != Value::Element || !self.is_binary(2)) {
            let is_array = self.value == Value::Address;
            self.value = if is_array { Value::Pointer } else { Value::Element };
            self.start -= 1;
            return Some(ControlFlow::Continue(()));
        }
        if self.is_before(1, '&') && !self.is_before(2, '&') && !self.is_binary(2) {
            self.value = match self.value {
                Value::Element => Value::Pointer,
                Value::Pointer | Value::Address => Value::Address,
            };
            self.start -= 1;
            return Some(ControlFlow::Continue(()));
        }
        if self.is_before(1, ')') && self.is_after_cast(1) {
            self.start = self.open_before(1)?;
            return Some(ControlFlow::Continue(()));
        }
        None
    }

    /// Arithmetic with pointers, and parentheses.
    fn around(&mut self) -> Option<ControlFlow<Use<'a>>> {
        let is_sign = |token: &Token<'_>| token.is('+') || token.is('-');
        if self.value != Value::Element {
            let is_compound = self.is_after(1, '=');
            if self.after(0).is_some_and(is_sign) && !is_compound {
                self.is_moved = true;
                let rest = self.pairs.slice(self.end + 1, usize::MAX);
                self.end = self.pairs.skip(self.end + 1, rest.len(), ends_sum);
                return Some(ControlFlow::Continue(()));
            }
            if self.before(1).is_some_and(is_sign) && self.is_binary(2) {
                if self.is_before(1, '-') {
                    return Some(ControlFlow::Break(Use::Read));
                }
                self.is_moved = true;
                self.start = self.pairs.skip_back(self.start - 1, ends_sum);
                return Some(ControlFlow::Continue(()));
            }
        }
        // `0[f]` is `f[0]`.
        if self.value == Value::Pointer && self.is_before(1, '[') && self.is_after(0, ']') {
            self.start = self.start.checked_sub(2)?;
            self.end += 1;
            self.value = Value::Element;
            return Some(ControlFlow::Continue(()));
        }
        let is_enclosed = self.is_before(1, '(') && self.is_after(0, ')');
        let caller = self.before(2).is_some_and(|word| {
            (word.kind == TokenKind::Word && word.text != "return" && word.text != "case")
                || word.is(']')
                || (word.is(')') && !self.is_after_cast(2) && !self.is_after_head(2))
        });
        if is_enclosed && !caller {
            self.start -= 1;
            self.end += 1;
            return Some(ControlFlow::Continue(()));
        }
        None
    }

    /// What is done with a pointer that no operator changes.
    fn pointer(&self) -> Use<'a> {
        let is_comparison = |first: Option<&Token<'_>>, second: Option<&Token<'_>>| {
            let is = |token: Option<&Token<'_>>, mark| token.is_some_and(|token| token.is(mark));
            is(first, '<')
                || is(first, '>')
                || (is(second, '=') && (is(first, '=') || is(first, '!')))
                || (is(first, '&') && is(second, '&'))
                || (is(first, '|') && is(second, '|'))
        };
        let is_tested = self.is_before(1, '!') || self.is_after(0, '?');
        if is_tested
            || is_comparison(self.after(0), self.after(1))
            || is_comparison(self.before(2), self.before(1))
            || is_comparison(self.before(1), None)
        {
            return Use::Read;
        }
        if self.is_before(1, '=') {
            return Use::Copied(self.start - 1, self.value);
        }
        let ends = self.is_after(0, ';');
        let starts = self.before(1).is_none_or(|token| {
            [';', '{', '}'].iter().any(|mark| token.is(*mark))
                || matches!(token.text, "else" | "do")
        });
        if ends && (starts || (self.is_before(1, ')') && self.is_after_head(1))) {
            return Use::Read;
        }
        if !self.is_before(1, ',') && !self.is_before(1, '(') && !self.is_before(1, '{') {
            return Use::Other;
        }
        let Some(open) = self.pairs.enclosing(self.start) else {
            // A list of declarations.
            return if self.is_before(1, ',') { Use::Read } else { Use::Other };
        };
        let is_open = |mark| self.pairs.get(open).is_some_and(|token| token.is(mark));
        let word = open.checked_sub(1).and_then(|at| self.pairs.get(at));
        if is_open('{') {
            let is_block = word.is_none_or(|before| {
                let is_literal = before.is(')')
                    && self.pairs.partner(open - 1).is_some_and(|from| {
                        let inside = self.pairs.slice(from + 1, open - 1);
                        is_type_name(inside)
                            && inside.iter().all(|token| !token.is(','))
                            && !is_function_head(self.pairs, from)
                    });
                (before.is(')') && !is_literal)
                    || [';', '}', ':'].iter().any(|mark| before.is(*mark))
                    || matches!(before.text, "else" | "do")
            });
            return if is_block { Use::Read } else { Use::Listed(open) };
        }
        match word {
            Some(word) if is_open('(') && word.kind == TokenKind::Word => match word.text {
                "if" | "while" | "switch" => Use::Read,
                function if !is_statement(function) => {
                    let nth = self.pairs.commas(open + 1, self.start);
                    Use::Passed { function, nth }
                }
                _ => Use::Other,
            },
            _ => Use::Other,
        }
    }
}

/// How many operators may be around an operand.
const MAX_STEPS: usize = 100;

/// What ends a sum.
fn ends_sum(token: &Token<'_>) -> bool {
    [',', ';', '(', ')', '[', ']', '{', '}', '=', '?', ':', '<', '>', '!', '&', '|']
        .iter()
        .any(|mark| token.is(*mark))
        || token.text == "return"
}

/// Whether these parentheses are those of a function or of a statement, not of a cast.
fn is_function_head(pairs: &Pairs<'_, '_>, open: usize) -> bool {
    let word = open.checked_sub(1).and_then(|at| pairs.get(at));
    word.is_some_and(|word| word.kind == TokenKind::Word && word.text != "return")
}
