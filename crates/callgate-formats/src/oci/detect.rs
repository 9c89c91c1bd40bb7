//! Detection of container profiles and of resources of Kubernetes.

/// Whether a text is JSON, or empty: the reader of profiles has the best message. A row of `tcpdump -dd` also begins with a
/// brace, followed by a number.
pub(super) fn is_json(text: &[u8]) -> bool {
    let text = text.trim_ascii();
    match text.strip_prefix(b"{") {
        Some(inside) => !inside.trim_ascii_start().first().is_some_and(u8::is_ascii_alphanumeric),
        None => text.is_empty() || text.starts_with(b"["),
    }
}

/// Whether the first significant line begins a profile in YAML. A word and a colon may also be an assembler label,
/// so the word must be a key with which such files begin.
pub(super) fn is_yaml(text: &[u8]) -> bool {
    const KEYS: &[&[u8]] = &[
        b"apiVersion",
        b"kind",
        b"metadata",
        b"spec",
        b"ociVersion",
        b"defaultAction",
        b"defaultErrnoRet",
        b"architectures",
        b"archMap",
        b"syscalls",
    ];
    let mut lines = text.split(|byte| *byte == b'\n').map(<[u8]>::trim_ascii);
    let Some(line) = lines.find(|line| !line.is_empty() && !line.starts_with(b"#")) else {
        return false;
    };
    if line.starts_with(b"---") || line.starts_with(b"%YAML") {
        return true;
    }
    let mut parts = line.splitn(2, |byte| *byte == b':');
    let (Some(key), Some(value)) = (parts.next(), parts.next()) else {
        return false;
    };
    let quoted = |mark| key.strip_prefix(mark).and_then(|key| key.strip_suffix(mark));
    let key = quoted(b"\"").or(quoted(b"'")).unwrap_or(key);
    KEYS.contains(&key) && value.first().is_none_or(u8::is_ascii_whitespace)
}
