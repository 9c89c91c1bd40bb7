//! Types of plain scalars: those on which YAML 1.1 and the core schema of YAML 1.2 (10.3.2) agree.
//!
//! Kubernetes reads resources with go-yaml, which follows YAML 1.1 with some additions (`resolve.go` of
//! `go.yaml.in/yaml/v2`): it drops underscores in numbers, and it knows `0b`, `0o` and upper-case prefixes. What one version
//! takes for a string and another one for a boolean or a number is refused, and so is a number with two values.

use crate::syntax::tree::{Dispute, NodeKind};

/// The value of a plain scalar.
pub(super) fn resolve(value: &str) -> Result<NodeKind<'static>, Dispute> {
    Ok(match value {
        "" | "~" | "null" | "Null" | "NULL" => NodeKind::Null,
        "true" | "True" | "TRUE" => NodeKind::Bool(true),
        "false" | "False" | "FALSE" => NodeKind::Bool(false),
        "y" | "Y" | "yes" | "Yes" | "YES" | "on" | "On" | "ON" | "n" | "N" | "no" | "No" | "NO"
        | "off" | "Off" | "OFF" => return Err(Dispute::Boolean),
        value if is_not_finite(value) => return Err(Dispute::NotFinite),
        value if has_leading_zeros(value) => return Err(Dispute::LeadingZeros),
        // go-yaml reads integers above 2⁶³ − 1 without sign only.
        value if value.starts_with('+') && value.parse::<u64>().is_ok_and(|n| n >> 63 == 1) => {
            return Err(Dispute::Number);
        }
        value if is_number(value) => NodeKind::Number(value.to_owned().into()),
        value if is_number_elsewhere(value) => return Err(Dispute::Number),
        text => NodeKind::Text(text.to_owned().into()),
    })
}

/// A key as a string, from a plain scalar: a word, or an integer as every program writes it. `None` for any other type.
pub(super) fn key(value: &str) -> Result<Option<&str>, Dispute> {
    // go-yaml turns integers below 2⁶³ into strings, and refuses larger ones.
    let is_integer = || value.parse::<i64>().is_ok_and(|number| number.to_string() == value);
    Ok(match resolve(value)? {
        NodeKind::Text(_) => Some(value),
        NodeKind::Number(_) if is_integer() => Some(value),
        _ => None,
    })
}

fn some(digits: &str, is: fn(&u8) -> bool) -> bool {
    !digits.is_empty() && digits.bytes().all(|byte| is(&byte))
}

fn without_sign(value: &str) -> &str {
    value.strip_prefix(['-', '+']).unwrap_or(value)
}

fn is_not_finite(value: &str) -> bool {
    let is_infinite = matches!(without_sign(value), ".inf" | ".Inf" | ".INF");
    is_infinite || matches!(value, ".nan" | ".NaN" | ".NAN")
}

/// Whether a plain scalar is an integer with leading zeros: octal in YAML 1.1, decimal in YAML 1.2. Also with underscores,
/// which make it a string in YAML 1.2.
fn has_leading_zeros(value: &str) -> bool {
    let digits = without_sign(value);
    digits.len() > 1
        && digits.starts_with('0')
        && digits.bytes().all(|byte| byte.is_ascii_digit() || byte == b'_')
}

/// Whether a plain scalar is a finite number in the core schema.
fn is_number(value: &str) -> bool {
    if let Some(digits) = value.strip_prefix("0x") {
        return some(digits, u8::is_ascii_hexdigit);
    }
    if let Some(digits) = value.strip_prefix("0o") {
        return some(digits, is_octal);
    }
    let unsigned = without_sign(value);
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let exponent_fits =
        exponent.is_none_or(|exponent| some(without_sign(exponent), u8::is_ascii_digit));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |digits: &str| digits.is_empty() || some(digits, u8::is_ascii_digit);
    exponent_fits
        && is_digits(whole)
        && is_digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
}

/// Whether programs that follow YAML 1.1 take a plain scalar for a number that the core schema takes for a string.
fn is_number_elsewhere(value: &str) -> bool {
    if !value.starts_with(|c: char| c.is_ascii_digit() || matches!(c, '+' | '-' | '.')) {
        return false;
    }
    let plain = value.replace('_', "");
    is_number(&plain) || is_prefixed(&plain) || is_sexagesimal(&plain)
}

/// Whether this is an integer with a prefix as in the source code of Go, perhaps with a sign.
fn is_prefixed(value: &str) -> bool {
    let lower = without_sign(value).to_ascii_lowercase();
    let [is_hexadecimal, is_octal, is_binary] = [
        ("0x", u8::is_ascii_hexdigit as fn(&u8) -> bool),
        ("0o", is_octal),
        ("0b", |digit| matches!(digit, b'0' | b'1')),
    ]
    .map(|(prefix, is)| lower.strip_prefix(prefix).is_some_and(|digits| some(digits, is)));
    is_hexadecimal || is_octal || is_binary
}

/// Whether this is a number of base 60, such as `1:30` for 90.
fn is_sexagesimal(value: &str) -> bool {
    let mut parts = without_sign(value).split(':');
    let is_first = parts.next().is_some_and(|first| some(first, u8::is_ascii_digit));
    let mut rest = parts.peekable();
    let mut is_rest = rest.peek().is_some();
    while let Some(part) = rest.next() {
        let whole = match part.split_once('.') {
            Some((whole, fraction)) if rest.peek().is_none() => {
                is_rest &= fraction.bytes().all(|byte| byte.is_ascii_digit());
                whole
            }
            _ => part,
        };
        is_rest &= matches!(whole.as_bytes(), [b'0'..=b'9'] | [b'0'..=b'5', b'0'..=b'9']);
    }
    is_first && is_rest
}

fn is_octal(digit: &u8) -> bool {
    (b'0'..=b'7').contains(digit)
}
