//! `--label KEY=VALUE`.

use std::fmt;

/// A label of runs.
#[derive(Clone, Debug)]
pub(super) struct Label {
    pub(super) key: String,
    pub(super) value: String,
}

impl fmt::Display for Label {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}={}", self.key, self.value)
    }
}

/// The longest key and value in bytes.
const MAX_LENGTH: usize = 256;

/// Parses a label.
pub(super) fn label(text: &str) -> Result<Label, String> {
    let (key, value) =
        text.split_once('=').ok_or("a label is KEY=VALUE, for example node=web-1")?;
    let is_key = |c: char| c.is_ascii_alphanumeric() || "_-./".contains(c);
    if key.is_empty() || !key.chars().all(is_key) {
        return Err("the key consists of letters, digits, `_`, `-`, `.` and `/`".to_owned());
    }
    if value.is_empty() || value.chars().any(char::is_control) {
        return Err("the value is empty or has control characters".to_owned());
    }
    let longest = key.len().max(value.len());
    if longest > MAX_LENGTH {
        return Err(format!("{longest} bytes are more than {MAX_LENGTH}, the limit"));
    }
    Ok(Label { key: key.to_owned(), value: value.to_owned() })
}
