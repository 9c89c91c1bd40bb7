//! Types of plain scalars by the core schema of YAML 1.2 (10.3.2).

use crate::syntax::tree::NodeKind;

/// The value of a plain scalar.
pub(super) fn resolve(value: &str) -> NodeKind<'static> {
    match value {
        "" | "~" | "null" | "Null" | "NULL" => NodeKind::Null,
        "true" | "True" | "TRUE" => NodeKind::Bool(true),
        "false" | "False" | "FALSE" => NodeKind::Bool(false),
        number if is_number(number) => NodeKind::Number(number.to_owned().into()),
        text => NodeKind::Text(text.to_owned().into()),
    }
}

/// Whether a plain scalar is an integer or a floating-point number.
fn is_number(value: &str) -> bool {
    let some =
        |digits: &str, is: fn(&u8) -> bool| !digits.is_empty() && digits.bytes().all(|b| is(&b));
    if let Some(digits) = value.strip_prefix("0x") {
        return some(digits, u8::is_ascii_hexdigit);
    }
    if let Some(digits) = value.strip_prefix("0o") {
        return some(digits, |digit| (b'0'..=b'7').contains(digit));
    }
    if let ".nan" | ".NaN" | ".NAN" = value {
        return true;
    }
    let unsigned = value.strip_prefix(['-', '+']).unwrap_or(value);
    if let ".inf" | ".Inf" | ".INF" = unsigned {
        return true;
    }
    let (mantissa, exponent) = match unsigned.split_once(['e', 'E']) {
        Some((mantissa, exponent)) => (mantissa, Some(exponent)),
        None => (unsigned, None),
    };
    let exponent_fits = exponent.is_none_or(|exponent| {
        some(exponent.strip_prefix(['-', '+']).unwrap_or(exponent), u8::is_ascii_digit)
    });
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |digits: &str| digits.is_empty() || some(digits, u8::is_ascii_digit);
    exponent_fits
        && is_digits(whole)
        && is_digits(fraction)
        && !(whole.is_empty() && fraction.is_empty())
}
