//! Numbers as C's `sscanf` and `strtoull` read them.

/// Characters that C counts as white space.
const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | 0x0b | 0x0c | b'\r')
}

/// A text without the white space before it.
pub(super) fn skip_space(text: &str) -> &str {
    text.trim_start_matches(|c: char| c.is_ascii() && is_space(c as u8))
}

/// The bases of an integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Base {
    /// `%d`.
    Decimal,
    /// `%i`: hexadecimal after `0x`, octal after `0`.
    Detected,
}

/// An integer at the start of a text, after white space, and what follows it. As in C, the number saturates at 64 bits,
/// and the caller keeps the bits of its own type.
pub(super) fn integer(text: &str, base: Base) -> Option<(i64, &str)> {
    let text = skip_space(text);
    let (is_negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    };
    let (magnitude, rest) = digits_of(digits, base)?;
    let limit = if is_negative { 1 << 63 } else { i64::MAX as u128 };
    let value = magnitude.min(limit) as i128;
    let value = if is_negative { -value } else { value };
    Some((value as i64, rest))
}

/// All of a text as an unsigned 64-bit number in a detected base, with white space and `+` before it.
pub(super) fn unsigned(text: &str) -> Option<u64> {
    let text = skip_space(text);
    let (value, rest) = digits_of(text.strip_prefix('+').unwrap_or(text), Base::Detected)?;
    if rest.is_empty() { u64::try_from(value).ok() } else { None }
}

/// The number at the start of a text, at most 2⁶⁴, and what follows it.
fn digits_of(text: &str, base: Base) -> Option<(u128, &str)> {
    let hexadecimal = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"));
    let (radix, digits) = match (base, hexadecimal) {
        (Base::Detected, Some(digits)) if digits.starts_with(|c: char| c.is_ascii_hexdigit()) => {
            (16, digits)
        }
        (Base::Detected, _) if text.starts_with('0') => (8, text),
        _ => (10, text),
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let (number, rest) = digits.split_at_checked(end).filter(|(number, _)| !number.is_empty())?;
    let value = number
        .chars()
        .filter_map(|c| c.to_digit(radix))
        .fold(0u128, |value, digit| (value * u128::from(radix) + u128::from(digit)).min(1 << 64));
    Some((value, rest))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_those_of_sscanf() {
        assert_eq!(integer(" \t12x", Base::Decimal), Some((12, "x")));
        assert_eq!(integer("-7", Base::Decimal), Some((-7, "")));
        assert_eq!(integer("+7", Base::Decimal), Some((7, "")));
        assert_eq!(integer("0x10", Base::Decimal), Some((0, "x10")));
        assert_eq!(integer("0x10,", Base::Detected), Some((16, ",")));
        assert_eq!(integer("010", Base::Detected), Some((8, "")));
        assert_eq!(integer("08", Base::Detected), Some((0, "8")));
        assert_eq!(integer("99999999999999999999", Base::Decimal), Some((i64::MAX, "")));
        assert_eq!(integer("-99999999999999999999", Base::Decimal), Some((i64::MIN, "")));
        assert_eq!(integer("x", Base::Decimal), None);
        assert_eq!(integer("- 1", Base::Decimal), None);
    }

    #[test]
    fn unsigned_numbers_are_those_of_strtoull() {
        assert_eq!(unsigned(" +0xff"), Some(255));
        assert_eq!(unsigned("0"), Some(0));
        assert_eq!(unsigned("18446744073709551615"), Some(u64::MAX));
        for wrong in ["18446744073709551616", "-1", "1 ", "0x", "09", "", "a"] {
            assert_eq!(unsigned(wrong), None, "{wrong}");
        }
    }
}
