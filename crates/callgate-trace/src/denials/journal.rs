//! Lines of `journalctl -o json`.

use callgate_formats::syntax::json;
use callgate_formats::syntax::tree::{Node, integer};

/// The message of an entry; `None` for other lines. The journal writes a message that is not UTF-8 as a list of bytes.
pub(super) fn message(line: &str) -> Option<String> {
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
        callgate_formats::syntax::tree::NodeKind::Number(digits) => {
            integer(digits).and_then(|byte| u8::try_from(byte).ok())
        }
        _ => None,
    };
    let bytes: Option<Vec<u8>> = message.items().iter().map(byte).collect();
    Some(String::from_utf8_lossy(&bytes?).into_owned() + "\n")
}
