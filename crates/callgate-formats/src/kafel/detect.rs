//! Detection of Kafel policies.

/// Whether a text begins as a policy: after comments and directives, with a keyword and what may follow it.
pub(super) fn is_policy(text: &[u8]) -> bool {
    /// Words with which a statement begins, and the bytes that may follow them.
    const STARTS: &[(&[u8], &[u8])] = &[
        (b"POLICY", b" \t\r\n"),
        (b"USE", b" \t\r\n"),
        (b"DEFAULT", b" \t\r\n"),
        (b"ALLOW", b" \t\r\n{"),
        (b"LOG", b" \t\r\n{"),
        (b"KILL", b" \t\r\n{"),
        (b"KILL_PROCESS", b" \t\r\n{"),
        (b"KILL_THREAD", b" \t\r\n{"),
        (b"DENY", b" \t\r\n{"),
        (b"USER_NOTIF", b" \t\r\n{"),
        (b"ERRNO", b" \t\r\n("),
        (b"TRAP", b" \t\r\n("),
        (b"TRACE", b" \t\r\n("),
    ];
    let mut rest = text.trim_ascii_start();
    loop {
        let skipped = if rest.starts_with(b"//") || rest.starts_with(b"#") {
            rest.iter().position(|byte| *byte == b'\n')
        } else if let Some(comment) = rest.strip_prefix(b"/*") {
            comment.windows(2).position(|end| end == b"*/").map(|at| at + 4)
        } else {
            break;
        };
        let Some(after) = skipped.and_then(|at| rest.get(at..)) else { return false };
        rest = after.trim_ascii_start();
    }
    STARTS.iter().any(|(word, next)| {
        let after = rest.strip_prefix(*word).and_then(<[u8]>::first);
        after.is_some_and(|byte| next.contains(byte))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn policies_begin_with_a_keyword() {
        for policy in [
            "POLICY a {}",
            "// x\n/* y */ #define A 1\nUSE a DEFAULT KILL",
            "ALLOW{read}",
            "#include \"x\"\nERRNO(1) { read }",
            "DEFAULT KILL",
        ] {
            assert!(is_policy(policy.as_bytes()), "{policy}");
        }
        for text in [
            "",
            "#define A 1",
            "#",
            "LOG: ret #0",
            "ret ALLOW",
            "// ALLOW",
            "{ 0x20, 0, 0, 0 }",
            "ALLOWED x",
            "/* POLICY a {}",
        ] {
            assert!(!is_policy(text.as_bytes()), "{text}");
        }
    }
}
