//! Values of string literals.

/// The value of a string literal as it is written: `"a\"b"`, `r#"a"b"#`. `None` for other literals.
pub(crate) fn string(written: &str) -> Option<String> {
    if let Some(raw) = written.strip_prefix('r') {
        let inside = raw.trim_matches('#');
        let hashes = (raw.len() - inside.len()) / 2;
        let is_balanced =
            raw.len() == inside.len() + 2 * hashes && raw.starts_with('#') == (hashes > 0);
        return is_balanced
            .then(|| inside.strip_prefix('"')?.strip_suffix('"').map(str::to_owned))?;
    }
    let inside = written.strip_prefix('"')?.strip_suffix('"')?;
    let mut value = String::new();
    let mut chars = inside.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            value.push(c);
            continue;
        }
        value.push(match chars.next()? {
            'n' => '\n',
            't' => '\t',
            'r' => '\r',
            '0' => '\0',
            same @ ('\\' | '"' | '\'') => same,
            'x' => {
                let digits: String = [chars.next()?, chars.next()?].iter().collect();
                char::from(u8::from_str_radix(&digits, 16).ok()?)
            }
            'u' => {
                let rest = chars.as_str().strip_prefix('{')?;
                let (digits, after) = rest.split_once('}')?;
                chars = after.chars();
                char::from_u32(u32::from_str_radix(&digits.replace('_', ""), 16).ok()?)?
            }
            _ => return None,
        });
    }
    Some(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn strings_have_the_value_that_the_compiler_gives_them() {
        for (written, value) in [
            (r#""a b""#, "a b"),
            (r#""""#, ""),
            (r#""a\"\\\x41\u{e9}\t""#, "a\"\\Aé\t"),
            (r##"r"a\b""##, "a\\b"),
            (r###"r#"a"b"#"###, "a\"b"),
            (r#""rest""#, "rest"),
        ] {
            assert_eq!(string(written).as_deref(), Some(value), "{written}");
        }
        for written in ["1", "'a'", "b\"a\"", "c\"a\"", "br\"a\"", "\"\\q\"", "r", "r#"] {
            assert_eq!(string(written), None, "{written}");
        }
    }
}
