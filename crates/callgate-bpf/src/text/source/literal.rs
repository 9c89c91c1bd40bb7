//! The values of numbers and characters of source code.

use super::integer::{Model, Sure, Type, Value};
use super::types::untyped;
use crate::lexer::Language;

/// How literals are read.
#[derive(Clone, Copy)]
pub(super) struct Literals {
    pub(super) language: Language,
    pub(super) model: Model,
    /// In a condition of the preprocessor all integers have the widest types.
    pub(super) in_condition: bool,
}

impl Literals {
    /// The value of a number, or of a character in single quotes.
    ///
    /// # Errors
    /// What is wrong with it.
    pub(super) fn value(self, text: &str) -> Result<Value, String> {
        let value = match text.strip_prefix('\'') {
            Some(inside) => self.character(inside.strip_suffix('\'').unwrap_or(inside))?,
            None if self.language == Language::C => return self.number_of_c(text),
            None => return self.number(text),
        };
        Ok(match (self.language, self.in_condition) {
            (Language::C, true) => Value::of(value, Type::LONG_LONG),
            (Language::C, false) => Value::of(value, Type::INT),
            _ => Value::untyped(value),
        })
    }

    fn number_of_c(self, text: &str) -> Result<Value, String> {
        let (base, digits) = split_base(text, true);
        let end = digits.find(|c: char| !c.is_digit(base.max(10))).unwrap_or(digits.len());
        let (digits, suffix) = digits.split_at_checked(end).unwrap_or((digits, ""));
        let is_hex_float = suffix.starts_with(['.', 'p', 'P']);
        if is_hex_float || (base != 16 && suffix.starts_with(['e', 'E'])) {
            return Err("a number with a fraction is not an integer".to_owned());
        }
        let number = unsigned(base, digits)?;
        let lower = suffix.to_ascii_lowercase();
        let (is_unsigned, longs) = match lower.as_str() {
            "" => (false, 0),
            "u" => (true, 0),
            "l" => (false, 1),
            "ul" | "lu" => (true, 1),
            "ll" => (false, 2),
            "ull" | "llu" => (true, 2),
            _ => return Err("the digits or the suffix of this number are wrong".to_owned()),
        };
        if suffix.contains("lL") || suffix.contains("Ll") {
            return Err("the suffix of this number is wrong".to_owned());
        }
        let (is_decimal, number) = (base == 10, number as i128);
        let too_large =
            "this number is too large for the types of decimal numbers; write it with `u`";
        if self.in_condition {
            let is_large = !Type::LONG_LONG.holds(number);
            if is_large && is_decimal && !is_unsigned {
                return Err(too_large.to_owned());
            }
            let kind = match is_unsigned || is_large {
                true => Type::UNSIGNED_LONG_LONG,
                false => Type::LONG_LONG,
            };
            return Ok(Value::of(number, kind));
        }
        let types = [
            (0, Type::INT),
            (0, Type::UNSIGNED),
            (1, self.model.long(true)),
            (1, self.model.long(false)),
            (2, Type::LONG_LONG),
            (2, Type::UNSIGNED_LONG_LONG),
        ];
        let may_be = |kind: Type| match kind.is_signed() {
            true => !is_unsigned,
            false => is_unsigned || !is_decimal,
        };
        let found = types
            .into_iter()
            .find(|(rank, kind)| *rank >= longs && may_be(*kind) && kind.holds(number));
        let (rank, kind) = found.ok_or_else(|| too_large.to_owned())?;
        // A number that needs 64 bits has them with any `long`.
        let is_sure = rank != 1 || self.model.is_known || !Type::UNSIGNED.holds(number);
        let sure = if is_sure { Sure::Yes } else { Sure::Low };
        Ok(Value { sure, ..Value::of(number, kind) })
    }

    /// A number of Rust or Go.
    fn number(self, text: &str) -> Result<Value, String> {
        let digits = text.replace('_', "");
        let is_rust = self.language == Language::Rust;
        let typed = ["u64", "u32", "u16", "u8", "usize", "i64", "i32", "i16", "i8", "isize"]
            .iter()
            .filter(|_| is_rust)
            .find_map(|name| Some((digits.strip_suffix(name)?, *name)));
        let (digits, name) = typed.map_or((&*digits, None), |(digits, name)| (digits, Some(name)));
        let (base, digits) = split_base(digits, !is_rust);
        let number = unsigned(base, digits)? as i128;
        match name.and_then(|name| untyped(name, Language::Rust, self.model)) {
            None => Ok(Value::untyped(number)),
            Some(kind) if kind.holds(number) => Ok(Value::of(number, kind)),
            Some(_) => Err("this number does not fit into its type".to_owned()),
        }
    }

    /// The value of what is between single quotes: in C, several characters are the bytes of an `int`.
    fn character(self, inside: &str) -> Result<i128, String> {
        let mut bytes = Vec::new();
        let mut rest = inside;
        while !rest.is_empty() {
            let (byte, after) = match rest.strip_prefix('\\') {
                Some(escape) => escaped(escape).ok_or("this escape sequence is not known")?,
                None => {
                    let mut chars = rest.chars();
                    let c = chars.next().filter(char::is_ascii);
                    (c.ok_or("this character is not ASCII")? as u8, chars.as_str())
                }
            };
            bytes.push(byte);
            rest = after;
        }
        match (bytes.as_slice(), self.language) {
            ([byte], _) if byte.is_ascii() => Ok(i128::from(*byte)),
            ([byte], Language::C) => match self.model.is_char_signed {
                Some(is_signed) => Ok(i128::from(*byte) - if is_signed { 256 } else { 0 }),
                None => Err("whether `char` is signed depends on the architecture".to_owned()),
            },
            ([_, _, ..], Language::C) if bytes.len() <= 4 => {
                Ok(bytes.iter().fold(0, |value, byte| (value << 8) | i128::from(*byte)))
            }
            _ => Err("expected one character in single quotes".to_owned()),
        }
    }
}

/// The base of a number, and its digits. `is_octal` tells whether a leading 0 alone means octal.
fn split_base(text: &str, is_octal: bool) -> (u32, &str) {
    let after = |from: usize| text.get(from..).unwrap_or_default();
    match text.as_bytes() {
        [b'0', b'x' | b'X', ..] => (16, after(2)),
        [b'0', b'b' | b'B', ..] => (2, after(2)),
        [b'0', b'o' | b'O', ..] => (8, after(2)),
        [b'0', digit, ..] if is_octal && digit.is_ascii_digit() => (8, after(1)),
        _ => (10, text),
    }
}

fn unsigned(base: u32, digits: &str) -> Result<u64, String> {
    if digits.is_empty() || !digits.chars().all(|c| c.is_digit(base)) {
        return Err("the digits of this number are wrong".to_owned());
    }
    u64::from_str_radix(digits, base).map_err(|_| "this number has more than 64 bits".to_owned())
}

/// The byte of an escape sequence after its backslash, and what follows.
fn escaped(text: &str) -> Option<(u8, &str)> {
    let first = text.chars().next()?;
    let after = text.get(first.len_utf8()..)?;
    let simple = match first {
        'n' => Some(b'\n'),
        't' => Some(b'\t'),
        'r' => Some(b'\r'),
        'a' => Some(7),
        'b' => Some(8),
        'v' => Some(11),
        'f' => Some(12),
        '\\' | '\'' | '"' | '?' => Some(first as u8),
        _ => None,
    };
    if let Some(byte) = simple {
        return Some((byte, after));
    }
    let (base, digits, most) = if first == 'x' { (16, after, usize::MAX) } else { (8, text, 3) };
    let end = digits.find(|c: char| !c.is_digit(base)).unwrap_or(digits.len()).min(most);
    let (digits, after) = digits.split_at_checked(end)?;
    Some((u8::from_str_radix(digits, base).ok()?, after))
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_core::Arch;

    /// The types are those of C17, 6.4.4.1, for a `long` of 64 and of 32 bits.
    #[test]
    fn literals_have_the_types_of_c() {
        let of = |arch, text: &str| {
            let model = Model::of(Some(arch));
            let literals = Literals { language: Language::C, model, in_condition: false };
            literals.value(text).map(|value| (value.number, value.kind))
        };
        for (text, number, kind) in [
            ("2147483647", 0x7fff_ffff, Type::INT),
            ("0x80000000", 0x8000_0000, Type::UNSIGNED),
            ("020000000000", 0x8000_0000, Type::UNSIGNED),
            ("1U", 1, Type::UNSIGNED),
            ("5uLL", 5, Type::UNSIGNED_LONG_LONG),
            ("0b101", 5, Type::INT),
            ("'a'", 97, Type::INT),
            ("'\\xff'", -1, Type::INT),
            ("'ab'", 0x6162, Type::INT),
            ("'\\0'", 0, Type::INT),
        ] {
            assert_eq!(of(Arch::X86_64, text), Ok((number, Some(kind))), "{text}");
        }
        let long = Model::of(Some(Arch::X86_64)).long(true);
        assert_eq!(of(Arch::X86_64, "2147483648"), Ok((0x8000_0000, Some(long))));
        assert_eq!(of(Arch::X86, "2147483648"), Ok((0x8000_0000, Some(Type::LONG_LONG))));
        assert_eq!(of(Arch::Aarch64, "'\\xff'"), Ok((255, Some(Type::INT))));
        for text in
            ["08", "1.0", "1e5", "0x", "5lul", "1lL", "18446744073709551615", "0x1e+1", "''"]
        {
            assert!(of(Arch::X86_64, text).is_err(), "{text}");
        }
    }
}
