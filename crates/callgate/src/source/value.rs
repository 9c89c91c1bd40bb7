//! 64-bit values as text.

/// A 64-bit value, of which the sign is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Value {
    /// Two's complement if it is negative.
    bits: u64,
    is_negative: bool,
}

impl From<u64> for Value {
    fn from(bits: u64) -> Value {
        Value { bits, is_negative: false }
    }
}

impl From<i64> for Value {
    fn from(value: i64) -> Value {
        Value { bits: value as u64, is_negative: value < 0 }
    }
}

impl Value {
    /// Parses a value: decimal, `0x`, `0o` or `0b`, perhaps negative.
    ///
    /// # Errors
    /// If the text is not a number, or does not fit in 64 bits.
    pub fn parse(text: &str) -> Result<Value, String> {
        let (has_minus, digits) = match text.strip_prefix('-') {
            Some(digits) => (true, digits),
            None => (false, text),
        };
        let (radix, digits) = match digits.as_bytes() {
            [b'0', b'x' | b'X', ..] => (16, &digits[2..]),
            [b'0', b'o', ..] => (8, &digits[2..]),
            [b'0', b'b', ..] => (2, &digits[2..]),
            [b'0', _, ..] => match advice(digits) {
                Some(advice) => return Err(advice),
                None => (10, digits),
            },
            _ => (10, digits),
        };
        if digits.starts_with(['+', '-']) {
            return Err("not a number".to_owned());
        }
        let value = u64::from_str_radix(digits, radix).map_err(|error| match error.kind() {
            std::num::IntErrorKind::PosOverflow => "does not fit in 64 bits".to_owned(),
            _ => "not a number (decimal, 0x, 0o or 0b)".to_owned(),
        })?;
        match has_minus {
            false => Ok(Value::from(value)),
            true => match 0i64.checked_sub_unsigned(value) {
                Some(value) => Ok(Value::from(value)),
                None => Err("does not fit in 64 bits".to_owned()),
            },
        }
    }

    /// The 64 bits.
    pub fn bits(self) -> u64 {
        self.bits
    }

    /// The 32 bits of a value that fits in them; a negative one must fit as a signed value.
    pub fn narrow(self) -> Option<u32> {
        match self.is_negative {
            false => u32::try_from(self.bits).ok(),
            true => i32::try_from(self.bits as i64).ok().map(|value| value as u32),
        }
    }

    /// Whether it is below 0.
    pub fn is_negative(self) -> bool {
        self.is_negative
    }
}

/// What to write in place of digits after a 0, which is a decimal number for some and an octal one for others.
fn advice(digits: &str) -> Option<String> {
    let digits = digits.trim_start_matches('0');
    if digits.is_empty() || !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    Some(match digits.contains(['8', '9']) {
        true => format!("write {digits} (decimal)"),
        false => format!("write 0o{digits} (octal) or {digits} (decimal)"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_parsed_in_every_radix() {
        let parse = |text| Value::parse(text).map(Value::bits);
        for (text, value) in [
            ("0", 0),
            ("00", 0),
            ("42", 42),
            ("0x7e020000", 0x7e02_0000),
            ("0o755", 0o755),
            ("0b101", 5),
            ("-1", u64::MAX),
            ("-0", 0),
            ("-0x64", (-100i64) as u64),
            ("18446744073709551615", u64::MAX),
            ("-9223372036854775808", 1 << 63),
        ] {
            assert_eq!(parse(text), Ok(value), "{text}");
        }
        for text in ["", "-", "0x", "x", "1.5", "--1", "+1", "0x+1", "18446744073709551616"] {
            assert!(parse(text).is_err(), "{text}");
        }
        assert!(parse("-9223372036854775809").is_err());
        for (text, why) in [
            ("0755", "write 0o755 (octal) or 755 (decimal)"),
            ("-01", "write 0o1 (octal) or 1 (decimal)"),
            ("08", "write 8 (decimal)"),
            ("0abc", "not a number (decimal, 0x, 0o or 0b)"),
            ("0-1", "not a number (decimal, 0x, 0o or 0b)"),
        ] {
            assert_eq!(parse(text), Err(why.to_owned()), "{text}");
        }
    }

    #[test]
    fn only_negative_values_are_truncated() {
        let narrow = |text| Value::parse(text).unwrap().narrow();
        assert_eq!(narrow("-1"), Some(u32::MAX));
        assert_eq!(narrow("-0x80000000"), Some(1 << 31));
        assert_eq!(narrow("0xffffffff"), Some(u32::MAX));
        for text in ["18446744073709551615", "0x1ffffffff", "-0x80000001"] {
            assert_eq!(narrow(text), None, "{text}");
        }
    }
}
