//! Fields of audit records, and the messages of journals in JSON that have such records.

use std::borrow::Cow;

use callgate_formats::syntax::json;
use callgate_formats::syntax::tree::{Node, NodeKind, integer};

/// How many bytes of a program's name the kernel keeps (`TASK_COMM_LEN` in `include/linux/sched.h`, without the zero).
const COMM: usize = 15;

/// The name of the program and its path (`comm` and `exe`), as far as a record has them.
pub(crate) fn programs(line: &str, is_raw: bool) -> [Option<Cow<'_, str>>; 2] {
    ["comm", "exe"].map(|key| fields(line, key).next().map(|value| decoded(value, is_raw)))
}

/// The program of a record: its name, or else its path. That of one which executed itself by `/proc/self/exe` is the last part of its
/// path.
pub(crate) fn program(line: &str, is_raw: bool) -> Option<Cow<'_, str>> {
    let [name, path] = programs(line, is_raw);
    let is_itself = name.as_deref() == Some("exe");
    let last =
        |path: &Cow<'_, str>| path.rsplit('/').next().map(|last| Cow::Owned(last.to_owned()));
    match path.as_ref().filter(|_| is_itself).and_then(last) {
        Some(last) => Some(last),
        None => name.or(path),
    }
}

/// Whether a record is of a program: its name, its path, or the last part of the path.
pub(crate) fn is_of_program(line: &str, is_raw: bool, wanted: &str) -> bool {
    programs(line, is_raw).into_iter().flatten().any(|program| is_program(&program, wanted))
}

/// Whether the name or the path of a program is that of a wanted one: its name, its path, or the last part of the path.
pub(crate) fn is_program(program: &str, wanted: &str) -> bool {
    // The kernel cuts `comm`, and no path.
    let is_cut = program.len() == COMM && !program.starts_with('/') && wanted.starts_with(program);
    program == wanted || is_cut || program.rsplit('/').next() == Some(wanted)
}

/// The values of a key: in quotes, or up to a blank.
pub(crate) fn fields<'t>(line: &'t str, key: &'t str) -> impl Iterator<Item = &'t str> {
    line.match_indices(key).filter_map(move |(at, _)| {
        let before = line.get(..at)?;
        let starts = before.is_empty() || before.ends_with(char::is_whitespace);
        let value = line.get(at + key.len()..)?.strip_prefix('=').filter(|_| starts)?;
        // In JSON.
        if let Some(inner) = value.strip_prefix("\\\"") {
            let end = inner.find("\\\"")? + 2;
            return value.get(1..end);
        }
        if value.starts_with('"') {
            let end = value.get(1..)?.find('"')? + 2;
            return value.get(..end);
        }
        value.split([' ', '\n', '\r', '\u{1d}']).next().filter(|value| !value.is_empty())
    })
}

/// A value that the kernel quotes, or writes in hexadecimal if it has unusual characters (`audit_log_untrustedstring`);
/// `ausearch -i` decodes it.
pub(crate) fn decoded(value: &str, is_raw: bool) -> Cow<'_, str> {
    if let Some(inner) = value.strip_prefix('"') {
        return Cow::Borrowed(inner.strip_suffix('"').unwrap_or(inner));
    }
    let is_hex = is_raw
        && value.len() >= 2
        && value.len() % 2 == 0
        && value.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'A'..=b'F'));
    if !is_hex {
        return Cow::Borrowed(value);
    }
    let bytes = value.as_bytes().chunks(2).filter_map(|pair| {
        std::str::from_utf8(pair).ok().and_then(|pair| u8::from_str_radix(pair, 16).ok())
    });
    Cow::Owned(String::from_utf8_lossy(&bytes.collect::<Vec<u8>>()).into_owned())
}

/// The message of an entry of `journalctl -o json`; `None` for other lines. The journal writes a message that is not UTF-8 as a list of bytes.
pub(crate) fn journal_message(line: &str) -> Option<String> {
    let line = line.trim_end();
    if !(line.starts_with('{') && line.ends_with('}') && line.contains("\"MESSAGE\"")) {
        return None;
    }
    let entry = json::parse(line).ok()?;
    let message = entry.get("MESSAGE")?;
    if let Some(text) = message.text() {
        return Some(text.to_owned() + "\n");
    }
    let byte = |item: &Node<'_>| match &item.kind {
        NodeKind::Number(digits) => u8::try_from(integer(digits)?).ok(),
        _ => None,
    };
    let bytes: Option<Vec<u8>> = message.items().iter().map(byte).collect();
    Some(String::from_utf8_lossy(&bytes?).into_owned() + "\n")
}
