//! What JSON (RFC 8259) forbids but `jsonc-parser` accepts, and the one character that programs read
//! differently.
//!
//! Programs in C end a string at U+0000, so that crun takes the key `"names\u0000x"` for `names` and the
//! name `"read\u0000x"` for `read`, as libseccomp does for all runtimes. No profile and no recording needs it.

use callgate_bpf::diagnostic::{Diagnostic, Position};

/// The first such thing in a text that `jsonc-parser` has accepted.
pub(super) fn violation(text: &str) -> Option<Diagnostic> {
    let mut in_string = false;
    let mut rest = text.bytes().enumerate();
    while let Some((at, byte)) = rest.next() {
        let (message, help) = match byte {
            b'"' => {
                in_string = !in_string;
                continue;
            }
            b'\\' if in_string => {
                if text.get(at..).is_none_or(|escape| !escape.starts_with("\\u0000")) {
                    // What it escapes may be a quotation mark.
                    rest.next();
                    continue;
                }
                let help = "remove it: programs in C end the string there, and others do not";
                ("the string contains the character U+0000".to_owned(), help)
            }
            ..0x20 if in_string => {
                let message = format!("the string contains the control character U+{byte:04X}");
                (message, "write it as an escape, such as \\t or \\n")
            }
            b' ' | b'\t' | b'\n' | b'\r' | 0x21..0x7f => continue,
            _ if in_string => continue,
            _ => {
                let c = text.get(at..).and_then(|rest| rest.chars().next()).unwrap_or_default();
                let message =
                    format!("the character U+{:04X} is not white space in JSON", u32::from(c));
                (message, "use spaces, tabs and line breaks between values")
            }
        };
        return Some(Diagnostic::error(Some(Position::of(text, at)), message).help(help));
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(text: &str) -> Option<String> {
        violation(text).map(|diagnostic| diagnostic.to_string())
    }

    #[test]
    fn what_the_parser_accepts_and_json_does_not() {
        for (text, expected) in [
            ("{\"a\u{1}\": 1}", "1:4: the string contains the control character U+0001"),
            ("{\n\"a\nb\": 1}", "2:3: the string contains the control character U+000A"),
            ("[\"\t\"]", "1:3: the string contains the control character U+0009"),
            ("[1,\u{b}2]", "1:4: the character U+000B is not white space in JSON"),
            ("[1,\u{a0}2]", "1:4: the character U+00A0 is not white space in JSON"),
            ("[1]\u{2028}", "1:4: the character U+2028 is not white space in JSON"),
            ("[1]\u{feff}", "1:4: the character U+FEFF is not white space in JSON"),
            ("[\"a\\\"\u{1f}\"]", "1:6: the string contains the control character U+001F"),
            ("[\"x\\u0000\"]", "1:4: the string contains the character U+0000"),
            ("{\"a\\\\\\u0000\": 1}", "1:6: the string contains the character U+0000"),
        ] {
            assert_eq!(message(text).as_deref(), Some(expected), "{text:?}");
        }
    }

    #[test]
    fn what_json_has() {
        for text in [
            " {\r\n\t\"a\": [1, -2.5e+3, true, null], \"b\": {}} ",
            "[\"\\u0001\\\\u0000\\\"\\t\u{7f}\u{a0}é\u{2028}\"]",
            "[\"\\u0020\\u00010\"]",
            "[\"\\\\\", \"\\\\\\\\\"]",
        ] {
            assert_eq!(message(text), None, "{text:?}");
        }
    }
}
