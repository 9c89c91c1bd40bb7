//! Recordings in JSON that are cut off: a disk was full, a copy was interrupted.
//!
//! What stands before the cut and is whole is worth having, but it must not pass for the whole: the calls
//! behind the cut are those that a profile would deny. So it is read only on demand.

/// The text up to the last whole item of the list that is cut off, in a list at the top level, made whole;
/// `None` for a text that has its end, or was no JSON before it.
pub(super) fn whole_part(text: &str) -> Option<String> {
    let mut open = Vec::new();
    let (mut in_string, mut escaped) = (false, false);
    let mut end = None;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            // No string has several lines: where the text goes on, a quote is missing, and nothing is cut off.
            b'\n' if in_string && !text.get(at..)?.trim().is_empty() => return None,
            _ if in_string => {}
            b'{' | b'[' => open.push(byte),
            b'}' | b']' => {
                // What belongs together differs by two.
                open.pop().filter(|opening| *opening == byte - 2)?;
                if open == b"{[" {
                    end = Some(at + 1);
                }
            }
            _ => {}
        }
    }
    let whole = text.get(..end?)?;
    (!open.is_empty()).then(|| format!("{whole}]}}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn items_before_the_cut_are_whole() {
        let text = r#"{"a": [{"b": "]}\""}, {"c": [1]}], "d": [{}, {"e": 2}]}"#;
        let first = r#"{"a": [{"b": "]}\""}]}"#;
        let cases = [
            (0, None),
            (text.find(", {").unwrap() - 1, None),
            (text.find(", {").unwrap(), Some(first)),
            (text.find("1]").unwrap(), Some(first)),
            (text.find("\"e").unwrap(), Some(r#"{"a": [{"b": "]}\""}, {"c": [1]}], "d": [{}]}"#)),
            (text.len() - 1, Some(text)),
            (text.len(), None),
        ];
        for (length, whole) in cases {
            assert_eq!(whole_part(&text[..length]).as_deref(), whole, "{length}");
        }
        assert_eq!(whole_part(r#"{"a": [{}}"#), None);
        assert_eq!(whole_part("{\"a\": [{}, {\"b: 1},\n{}"), None);
    }
}
