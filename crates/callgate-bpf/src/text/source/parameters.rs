//! Parameters of the function around an array: their values are the arguments, if the text calls the function once.

use super::changed::changes;
use super::functions::parameter;
use super::pairs::Pairs;
use super::types::Types;
use crate::token::Token;

/// How many parameters of a text are looked up.
const MAX_LOOKUPS: usize = 100;

/// What the declaration of a parameter begins with.
const TYPES: &[&str] = &[
    "int", "unsigned", "signed", "long", "short", "char", "const", "__u8", "__u16", "__u32",
    "__u64", "__s32", "u8", "u16", "u32", "u64", "i32", "i64", "usize", "uint", "uint8", "uint16",
    "uint32", "uint64", "int32", "int64", "uint8_t", "uint16_t", "uint32_t", "uint64_t", "int32_t",
    "int64_t", "size_t", "c_uint", "c_int", "bool", "void",
];

/// What is known about the value of a parameter.
pub(super) enum Parameter<'t, 'a> {
    /// The argument of the only call, and the name of the function.
    Argument { function: &'a str, argument: &'t [Token<'a>] },
    /// The name of the function, and how often it is called.
    Unknown { function: &'a str, calls: usize },
    /// The function changes it, or hides it.
    Changed,
}

/// The functions of a text.
pub(super) struct Parameters<'t, 'a> {
    pairs: &'t Pairs<'t, 'a>,
    /// The open braces around the current place.
    pub(super) blocks: Vec<usize>,
    lookups: usize,
}

impl<'t, 'a> Parameters<'t, 'a> {
    pub(super) fn new(pairs: &'t Pairs<'t, 'a>) -> Self {
        Parameters { pairs, blocks: Vec::new(), lookups: 0 }
    }

    /// The parameter with a name of the functions around the current place; `None` if there is none.
    pub(super) fn find(&mut self, name: &str, types: &Types<'_>) -> Option<Parameter<'t, 'a>> {
        if self.lookups >= MAX_LOOKUPS {
            return None;
        }
        self.lookups += 1;
        let found = |block: &usize| Some((*block, self.header(*block, name)?));
        let (block, (at, function, nth)) = self.blocks.iter().rev().take(8).find_map(found)?;
        if self.is_changed(block, name, types) {
            return Some(Parameter::Changed);
        }
        let mut calls = Vec::new();
        for (here, token) in self.pairs.tokens().iter().enumerate() {
            if !token.is_name() || token.text != function {
                continue;
            }
            // A pointer to the function may be called, too.
            let is_member = self.pairs.before(here, 1).is_some_and(|before| before.is_any(".>"));
            if !self.pairs.is(here + 1, '(') && !is_member {
                return Some(Parameter::Changed);
            }
            if here != at {
                calls.extend(self.argument(here, nth));
            }
        }
        Some(match calls.as_slice() {
            [argument] => Parameter::Argument { function, argument },
            _ => Parameter::Unknown { function, calls: calls.len() },
        })
    }

    /// Whether the body of a function that begins at a brace assigns to a name, declares it again, or takes its address.
    fn is_changed(&self, brace: usize, name: &str, types: &Types<'_>) -> bool {
        let tokens = self.pairs.tokens();
        let end = self.pairs.partner(brace).unwrap_or(tokens.len());
        (brace..end).any(|at| {
            let (before, after) = match (tokens.get(..at), tokens.get(at..)) {
                (Some(before), Some([token, after @ ..])) if token.text == name => (before, after),
                _ => return false,
            };
            let is_address = matches!(before, [.., one, and] if and.is('&') && one.is_any("(,="));
            is_address || changes(before, after, types) > 0
        })
    }

    /// The function whose body begins at a brace: its place, its name and the index of the parameter.
    fn header(&self, brace: usize, name: &str) -> Option<(usize, &'a str, usize)> {
        let close = brace.checked_sub(1).filter(|close| self.pairs.is(*close, ')'))?;
        let open = self.pairs.partner(close)?;
        let function = self.pairs.before(open, 1).filter(|function| function.is_name())?;
        if matches!(function.text, "if" | "while" | "for" | "switch") {
            return None;
        }
        let mut start = open + 1;
        for nth in 0.. {
            let end = self.pairs.skip(start, close.checked_sub(start)?, |token| token.is(','));
            let last = self.pairs.slice(start, end).iter().rev().find(|token| token.is_name());
            if last.is_some_and(|last| last.text == name) {
                return Some((open - 1, function.text, nth));
            }
            start = end + 1;
        }
        None
    }

    /// An argument of the call at a place; `None` if this is a declaration.
    fn argument(&self, at: usize, nth: usize) -> Option<&'t [Token<'a>]> {
        let close = self.pairs.partner(at + 1).filter(|_| self.pairs.is(at + 1, '('))?;
        let (from, to) = parameter(self.pairs, (at + 2, close), nth)?;
        let argument = self.pairs.slice(from, to);
        let first = argument.first()?;
        let is_declared = TYPES.contains(&first.text) || first.is_word("struct");
        let is_definition = self.pairs.is(close + 1, '{');
        (!is_declared && !is_definition).then_some(argument)
    }
}
