//! Phrases that messages and comments share.

/// `once`, `2 times`.
pub(super) fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}
