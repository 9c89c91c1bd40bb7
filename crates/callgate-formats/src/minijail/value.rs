//! Parser of values: numbers and constants, with `~`, `|` and parentheses.

use super::lexer::{Kind, Token};
use super::names;
use super::parse::{Parser, Syntax};
use crate::diagnostics::quote::shorten;
use callgate_bpf::constants;

/// The maximum depth of parentheses.
const MAX_DEPTH: usize = 100;

/// Why a number has no value.
enum NumberError {
    TooLarge,
    TooSmall,
}

impl Parser<'_> {
    /// Constants separated by `|`.
    pub(super) fn value(&mut self) -> Syntax<u64> {
        self.value_at(0)
    }

    fn value_at(&mut self, depth: usize) -> Syntax<u64> {
        let mut value = 0;
        loop {
            value |= self.operand(depth)?;
            if !self.takes(Kind::Sign("|")) {
                return Ok(value);
            }
        }
    }

    /// A constant or a value in parentheses, perhaps with `~` before it.
    fn operand(&mut self, depth: usize) -> Syntax<u64> {
        let is_negated = self.takes(Kind::Sign("~"));
        let opening = self.peek();
        let value = if self.takes(Kind::Sign("(")) {
            if depth == MAX_DEPTH {
                let message = format!("parentheses are nested more than {MAX_DEPTH} deep");
                return Err(self.fail_at(opening, message, "write fewer of them"));
            }
            let value = self.value_at(depth + 1)?;
            if !self.takes(Kind::Sign(")")) {
                return Err(self.expected("`|` or `)`", ""));
            }
            value
        } else if is_negated && opening.is_some_and(|token| token.kind == Kind::Sign("~")) {
            let help = "minijail rejects this; remove both";
            return Err(self.fail_at(opening, "`~` after `~`".to_owned(), help));
        } else {
            self.constant("a number or a constant")?
        };
        Ok(if is_negated { !value & self.word() } else { value })
    }

    /// A number or the name of a constant.
    pub(super) fn constant(&mut self, what: &str) -> Syntax<u64> {
        let Some(token) = self.peek() else { return Err(self.expected(what, "")) };
        match token.kind {
            Kind::Number => {
                self.take();
                self.number(token)
            }
            Kind::Name => {
                self.take();
                let name = self.text(token);
                match names::constant(self.arch, name) {
                    Some(value) => Ok(value & self.word()),
                    None => Err(self.unknown_constant(token)),
                }
            }
            _ => Err(self.expected(what, "")),
        }
    }

    fn unknown_constant(&mut self, token: Token) -> super::parse::Stop {
        let name = self.text(token);
        let shown = shorten(name);
        if constants::is_name(name) {
            let message = format!("the constant `{shown}` does not exist on {}", self.arch);
            return self.fail_at(Some(token), message, "give a number");
        }
        let help = match self.reports.nearest(|| constants::nearest_name(name)) {
            Some(near) => format!("did you mean `{near}`?"),
            None => "give a number, or a constant of the kernel's headers".to_owned(),
        };
        self.fail_at(Some(token), format!("unknown constant `{shown}`"), &help)
    }

    /// The value of a number: hexadecimal, octal or decimal, negative ones as the kernel sees them.
    pub(super) fn number(&mut self, token: Token) -> Syntax<u64> {
        let given = self.text(token);
        match parse(given, self.word()) {
            Ok(value) => Ok(value),
            Err(error) => {
                let bits = self.word().count_ones();
                let (why, help) = match error {
                    NumberError::TooLarge => ("too large", "an argument"),
                    NumberError::TooSmall => ("too small", "a negative argument"),
                };
                let message = format!("the number {} is {why}", shorten(given));
                Err(self.fail_at(Some(token), message, &format!("{help} has {bits} bits")))
            }
        }
    }

    /// A mask of the bits of an argument.
    pub(super) fn word(&self) -> u64 {
        if self.arch.has_wide_registers() { u64::MAX } else { u32::MAX.into() }
    }
}

/// Parses a number: hexadecimal after `0x`, octal if it has only octal digits after a `0`, otherwise decimal.
fn parse(text: &str, word: u64) -> Result<u64, NumberError> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    let is_octal = digits.len() > 1
        && digits.starts_with('0')
        && digits.bytes().all(|digit| matches!(digit, b'0'..=b'7'));
    let value = match digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X")) {
        Some(digits) => u64::from_str_radix(digits, 16),
        None if is_octal => u64::from_str_radix(digits, 8),
        None => digits.parse(),
    };
    if digits.len() == text.len() {
        value.ok().filter(|value| *value <= word).ok_or(NumberError::TooLarge)
    } else {
        let lowest = word / 2 + 1;
        let value = value.ok().filter(|value| *value <= lowest).ok_or(NumberError::TooSmall)?;
        Ok(value.wrapping_neg() & word)
    }
}
