//! Markdown as GitHub and GitLab render it.

use crate::text::printable;

/// A text as code, in a paragraph or a list. Untrusted text cannot end it.
pub(crate) fn code(text: &str) -> String {
    let text = printable(text).to_string();
    let longest = text.split(|c| c != '`').map(str::len).max().unwrap_or(0);
    let fence = "`".repeat(longest + 1);
    // A blank at each end is removed, so that the text may begin or end with a backtick.
    let blank = if text.starts_with('`') || text.ends_with('`') || text.trim().is_empty() {
        " "
    } else {
        ""
    };
    format!("{fence}{blank}{text}{blank}{fence}")
}

/// Text of this program as code, without its styles.
pub(crate) fn styled_code(text: &str) -> String {
    code(&anstream::adapter::strip_str(text).to_string())
}

/// Names as code, with commas.
pub(crate) fn codes<'a>(names: impl IntoIterator<Item = &'a str>) -> String {
    names.into_iter().map(code).collect::<Vec<_>>().join(", ")
}

/// Text of this program without styles, in one line; escapes what begins HTML, and what is not visible.
pub(crate) fn plain(text: &str) -> String {
    let text = anstream::adapter::strip_str(text).to_string();
    let text = printable(&text).to_string();
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_cannot_be_left() {
        for (text, shown) in [
            ("read", "`read`"),
            ("a`b", "``a`b``"),
            ("``", "``` `` ```"),
            ("", "`  `"),
            ("a\nb", "`a\\nb`"),
            ("a | b", "`a | b`"),
        ] {
            assert_eq!(code(text), shown);
        }
        assert_eq!(codes(["a", "b"]), "`a`, `b`");
    }

    #[test]
    fn styles_and_html_are_not_kept() {
        assert_eq!(plain("\u{1b}[32mALLOW\u{1b}[0m <b> & c"), "ALLOW &lt;b&gt; &amp; c");
        assert_eq!(plain("a\u{202e}b\n# c"), "a\\u{202e}b\\n# c");
    }
}
