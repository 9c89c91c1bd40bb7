//! The escaping of all text of a page.

use std::fmt::Write;

use callgate_bpf::printable::is_printable;

/// Adds text to a text, escaped for the content of elements and for attributes in double quotes, of HTML and XML.
///
/// Characters that are not printable become escapes such as `\u{1b}`, also control characters, which terminals execute when a
/// page is printed there, characters that XML does not allow, and line breaks, so text cannot imitate the structure around it.
pub(crate) fn escape_into(escaped: &mut String, text: &str) {
    // Most text needs no escape, and is copied as a whole.
    let mut rest = text;
    while let Some(at) = rest.find(|c: char| !is_plain(c)) {
        let (plain, tail) = rest.split_at(at);
        escaped.push_str(plain);
        let mut chars = tail.chars();
        match chars.next() {
            Some('&') => escaped.push_str("&amp;"),
            Some('<') => escaped.push_str("&lt;"),
            Some('>') => escaped.push_str("&gt;"),
            Some('"') => escaped.push_str("&quot;"),
            Some('\'') => escaped.push_str("&#39;"),
            Some(c) if is_printable(c) => escaped.push(c),
            Some(c) => {
                let _ = write!(escaped, "{}", c.escape_default());
            }
            None => {}
        }
        rest = chars.as_str();
    }
    escaped.push_str(rest);
}

/// Whether a character is printable ASCII without a meaning in HTML.
fn is_plain(c: char) -> bool {
    matches!(c, ' '..='~') && !matches!(c, '&' | '<' | '>' | '"' | '\'')
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::printable::HIDDEN;

    #[test]
    fn hidden_characters_are_escaped() {
        for c in HIDDEN.iter().flat_map(|(first, last, _)| *first..=*last) {
            let mut found = String::new();
            escape_into(&mut found, &c.to_string());
            assert_eq!(found, c.escape_default().to_string());
        }
        let mut found = String::new();
        escape_into(&mut found, "عربي 中文 עברית");
        assert_eq!(found, "عربي 中文 עברית");
    }

    #[test]
    fn text_cannot_leave_its_place() {
        for (text, escaped) in [
            ("a<b>&\"'", "a&lt;b&gt;&amp;&quot;&#39;"),
            ("\u{1b}[2J\u{7f}\u{9b}", r"\u{1b}[2J\u{7f}\u{9b}"),
            ("a\nb\tc\0", r"a\nb\tc\u{0}"),
            (
                "\u{202e}\u{2066}\u{feff}\u{200b}\u{fffe}",
                r"\u{202e}\u{2066}\u{feff}\u{200b}\u{fffe}",
            ),
            ("é日本e\u{301}😀", "é日本e\u{301}😀"),
        ] {
            let mut found = String::new();
            escape_into(&mut found, text);
            assert_eq!(found, escaped);
        }
    }
}
