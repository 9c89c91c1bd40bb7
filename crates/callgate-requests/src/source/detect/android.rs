//! Detection of lists of Android.

use callgate::formats::android;

/// Whether a text begins as a list: with an entry such as `close(int) all`.
pub(super) fn is_list(text: &[u8]) -> bool {
    std::str::from_utf8(text).is_ok_and(android::is_entry)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_begin_with_an_entry() {
        for list in ["close(int) all", "# x\n\nint __close:close(int)\tarm,lp64\n"] {
            assert!(is_list(list.as_bytes()), "{list}");
        }
        for text in [
            "",
            "# x",
            "close(3) = 0",
            "futex\nioctl\n",
            "ld [4]\nret ALLOW",
            "f(x) { all }",
            "read: 1",
        ] {
            assert!(!is_list(text.as_bytes()), "{text}");
        }
    }
}
