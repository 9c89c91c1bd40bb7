//! Integers in C's notation.

/// Reads the integer at the start of a text as C's `strtoull(text, &end, 0)` does, and returns it with the rest of
/// the text: `0x` is hexadecimal, `0` octal, a negative number wraps, and a number of more than 64 bits becomes the
/// largest one. Without a digit, the number is 0, and the rest is the whole text.
pub(crate) fn number(text: &str) -> (u64, &str) {
    let unsigned = text.trim_start();
    let is_negative = unsigned.starts_with('-');
    let unsigned = unsigned.strip_prefix(['+', '-']).unwrap_or(unsigned);
    let after_prefix = unsigned.strip_prefix("0x").or_else(|| unsigned.strip_prefix("0X"));
    let hexadecimal = after_prefix.filter(|rest| rest.starts_with(|c: char| c.is_ascii_hexdigit()));
    let (digits, radix) = match hexadecimal {
        Some(digits) => (digits, 16),
        None if unsigned.starts_with('0') => (unsigned, 8),
        None => (unsigned, 10),
    };
    let end = digits.find(|c: char| !c.is_digit(radix)).unwrap_or(digits.len());
    let (digits, rest) = digits.split_at(end);
    if digits.is_empty() {
        return (0, text);
    }
    match u64::from_str_radix(digits, radix) {
        Ok(value) if is_negative => (value.wrapping_neg(), rest),
        Ok(value) => (value, rest),
        Err(_) => (u64::MAX, rest),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_those_of_c() {
        for (text, expected) in [
            ("12", (12, "")),
            (" +12 ", (12, " ")),
            ("-1", (u64::MAX, "")),
            ("0x856B008", (0x856b008, "")),
            ("0XfFg", (0xff, "g")),
            ("017", (15, "")),
            ("089", (0, "89")),
            ("0x", (0, "x")),
            ("3fa9", (3, "fa9")),
            ("fa9", (0, "fa9")),
            ("", (0, "")),
            ("18446744073709551615", (u64::MAX, "")),
            ("99999999999999999999x", (u64::MAX, "x")),
        ] {
            assert_eq!(number(text), expected, "{text:?}");
        }
    }
}
