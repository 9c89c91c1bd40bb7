//! Detection of documents.

/// Whether a text begins like a document: an object, in it an object for a thread, in it one of its keys.
#[must_use]
pub fn is_document(text: &[u8]) -> bool {
    const KEYS: [&[u8]; 5] =
        [b"mismatch_action", b"match_action", b"default_action", b"filter_action", b"filter"];
    let key = || {
        let inside = text.trim_ascii_start().strip_prefix(b"{")?;
        let (_, value) = member(inside)?;
        Some(member(value.strip_prefix(b"{")?)?.0)
    };
    key().is_some_and(|key| KEYS.contains(&key))
}

/// The key of the first member of an object, and the text from its value on.
fn member(inside: &[u8]) -> Option<(&[u8], &[u8])> {
    let rest = inside.trim_ascii_start().strip_prefix(b"\"")?;
    let end = rest.iter().position(|byte| *byte == b'"')?;
    let (key, rest) = rest.split_at(end);
    let value = rest.get(1..)?.trim_ascii_start().strip_prefix(b":")?;
    Some((key, value.trim_ascii_start()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_have_a_filter_per_thread() {
        for text in [
            r#"{"vmm": {"default_action": "trap"}}"#,
            " {\n \"a\"\n:\n{ \"filter\" : []",
            r#"{"x": {"match_action": {"errno": 1}"#,
        ] {
            assert!(is_document(text.as_bytes()), "{text}");
        }
        for text in [
            "",
            "{",
            "{}",
            r#"{"defaultAction": "SCMP_ACT_ERRNO"}"#,
            r#"{"linux": {"seccomp": {}}}"#,
            r#"{"a": {"filter"#,
            r#"{"a": [{"filter": []}]}"#,
            "filter",
        ] {
            assert!(!is_document(text.as_bytes()), "{text}");
        }
    }
}
