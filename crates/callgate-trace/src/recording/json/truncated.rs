//! Truncated recordings in JSON: the disk was full, a copy was interrupted.
//!
//! The complete entries are useful, but incomplete: a profile made from them would deny the syscalls that are missing.
//! Therefore they are read only on request.

/// The text up to the last complete item of the truncated list at the top level, with the closing brackets added;
/// `None` if the text is not truncated, or is invalid JSON before its end.
pub(super) fn complete_part(text: &str) -> Option<String> {
    let mut open = Vec::new();
    let (mut in_string, mut escaped) = (false, false);
    let mut end = None;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            _ if escaped => escaped = false,
            b'\\' if in_string => escaped = true,
            b'"' => in_string = !in_string,
            // A string cannot span lines: if more text follows, a quote is missing and the text is not truncated.
            b'\n' if in_string && !text.get(at..)?.trim().is_empty() => return None,
            _ if in_string => {}
            b'{' | b'[' => open.push(byte),
            b'}' | b']' => {
                // In ASCII, matching brackets differ by 2.
                open.pop().filter(|opening| *opening == byte - 2)?;
                if open == b"{[" {
                    end = Some(at + 1);
                }
            }
            _ => {}
        }
    }
    let complete = text.get(..end?)?;
    (!open.is_empty()).then(|| format!("{complete}]}}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn complete_items_of_a_truncated_list_are_kept() {
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
        for (length, complete) in cases {
            assert_eq!(complete_part(&text[..length]).as_deref(), complete, "{length}");
        }
        assert_eq!(complete_part(r#"{"a": [{}}"#), None);
        assert_eq!(complete_part("{\"a\": [{}, {\"b: 1},\n{}"), None);
    }
}
