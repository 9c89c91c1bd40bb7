//! Characters that make a text look like another one, as errors.
//!
//! A reviewer sees what an editor or a web page shows: a character that is not visible, or that changes the order in which others
//! are shown, makes the text mean something else than what was reviewed. This also applies to comments and names.

use callgate_bpf::advice::Advice;
use callgate_bpf::diagnostic::{Diagnostic, Position};
use callgate_bpf::printable::{Hidden, hidden};

use crate::diagnostics::positions::Positions;

/// The maximum number of characters that are reported one by one.
const MAX_REPORTED: usize = 10;

/// The characters of a text that a reader of it does not see, or sees in another order, as errors: at most some of them. Tabs
/// and line ends are visible enough, and a byte order mark at the start belongs to the encoding.
///
/// ```
/// let errors = callgate_formats::hidden_characters("read: 1\nwri\u{200b}te: 1\n");
/// assert_eq!(errors[0].to_string(), "2:4: U+200B is invisible");
/// assert!(callgate_formats::hidden_characters("\u{feff}# r\u{e9}sum\u{e9}\r\n\tread: 1\n").is_empty());
/// ```
pub fn hidden_characters(text: &str) -> Vec<Diagnostic> {
    let mut found = text.char_indices().filter_map(|(at, c)| Some((at, c, reason(text, at, c)?)));
    let mut errors = Vec::new();
    let first: Vec<_> = found.by_ref().take(MAX_REPORTED).collect();
    if first.is_empty() {
        return errors;
    }
    let positions = Positions::new(text);
    for (at, c, reason) in first {
        let message = format!("U+{:04X} is {reason}", u32::from(c));
        let position: Position = positions.of(at);
        errors.push(Diagnostic::error(Some(position), message));
    }
    let more = found.count();
    if let Some(last) = errors.last_mut() {
        last.set_help(Advice::HiddenCharacters { more });
    }
    errors
}

/// Why the character at this offset is hidden.
fn reason(text: &str, at: usize, c: char) -> Option<Hidden> {
    let is_line_end = c == '\r' && text.get(at + 1..).is_some_and(|rest| rest.starts_with('\n'));
    let is_mark = c == '\u{feff}' && at == 0;
    hidden(c).filter(|_| !matches!(c, '\t' | '\n') && !is_line_end && !is_mark)
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::printable::HIDDEN;

    #[test]
    fn all_hidden_characters_are_found() {
        for c in HIDDEN.iter().flat_map(|(first, last, _)| *first..=*last) {
            let expected = usize::from(!matches!(c, '\t' | '\n'));
            assert_eq!(hidden_characters(&format!("a{c}b")).len(), expected, "{c:?}");
        }
        for text in ["é\u{e000}Ж中e\u{301}🙂\u{ff21}", "# ملف تعريف", "# קובץ", "# 默认拒绝。"]
        {
            assert_eq!(hidden_characters(text), [], "{text}");
        }
    }

    #[test]
    fn many_are_counted() {
        let errors = hidden_characters(&"\u{202e}".repeat(12));
        assert_eq!(errors.len(), 10);
        assert!(errors.last().unwrap().help.starts_with("there are 2 more"));
        assert_eq!(errors[0].message, "U+202E is a bidirectional control");
    }

    #[test]
    fn only_line_ends_may_have_a_carriage_return() {
        assert!(hidden_characters("a\r\nb\r\n").is_empty());
        for text in ["a\rb", "a\r", "a\u{feff}", "\u{85}", "a\u{b}", "\u{2028}", "\u{e0041}"] {
            assert_eq!(hidden_characters(text).len(), 1, "{text:?}");
        }
    }
}
