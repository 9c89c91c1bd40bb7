//! Characters that make a text look like another one.
//!
//! A reviewer sees what an editor or a web page shows: a character that is not visible, or that changes the order in which others
//! are shown, makes the text mean something else than what was reviewed. Such are control characters, format characters
//! (general category Cf, among them the bidirectional controls and tags), other characters that are shown as nothing
//! (`Default_Ignorable_Code_Point`, variation selectors), blanks and line ends beyond ASCII, and characters without ink.
//! This also applies to comments and names.
//!
//! Sources: `UnicodeData.txt`, `DerivedCoreProperties.txt` and `PropList.txt` of Unicode 16.0.

use callgate_bpf::diagnostic::{Diagnostic, Position};

use crate::diagnostics::positions::Positions;

/// The maximum number of characters that are reported one by one.
const MAX_REPORTED: usize = 10;

/// Intervals of characters, in order, with what they are.
const HIDDEN: &[(u32, u32, &str)] = &[
    (0x0000, 0x0008, "a control character"),
    (0x000b, 0x000c, "a line end or page end"),
    (0x000d, 0x000d, "a carriage return within a line"),
    (0x000e, 0x001f, "a control character"),
    (0x007f, 0x0084, "a control character"),
    (0x0085, 0x0085, "a line end"),
    (0x0086, 0x009f, "a control character"),
    (0x00a0, 0x00a0, "a blank"),
    (0x00ad, 0x00ad, "invisible"),
    (0x034f, 0x034f, "invisible"),
    (0x0600, 0x0605, "a format character"),
    (0x061c, 0x061c, "a bidirectional control"),
    (0x06dd, 0x06dd, "a format character"),
    (0x070f, 0x070f, "a format character"),
    (0x0890, 0x0891, "a format character"),
    (0x08e2, 0x08e2, "a format character"),
    (0x115f, 0x1160, "invisible"),
    (0x1680, 0x1680, "a blank"),
    (0x17b4, 0x17b5, "invisible"),
    (0x180b, 0x180f, "invisible"),
    (0x2000, 0x200a, "a blank"),
    (0x200b, 0x200d, "invisible"),
    (0x200e, 0x200f, "a bidirectional control"),
    (0x2028, 0x2029, "a line end"),
    (0x202a, 0x202e, "a bidirectional control"),
    (0x202f, 0x202f, "a blank"),
    (0x205f, 0x205f, "a blank"),
    (0x2060, 0x2065, "invisible"),
    (0x2066, 0x2069, "a bidirectional control"),
    (0x206a, 0x206f, "invisible"),
    (0x2800, 0x2800, "a blank"),
    (0x3000, 0x3000, "a blank"),
    (0x3164, 0x3164, "invisible"),
    (0xfe00, 0xfe0f, "a variation selector"),
    (0xfeff, 0xfeff, "invisible"),
    (0xffa0, 0xffa0, "invisible"),
    (0xfff0, 0xfffb, "a format character"),
    (0x110bd, 0x110bd, "a format character"),
    (0x110cd, 0x110cd, "a format character"),
    (0x13430, 0x1345f, "a format character"),
    (0x16fe4, 0x16fe4, "invisible"),
    (0x1bca0, 0x1bca3, "a format character"),
    (0x1d159, 0x1d159, "invisible"),
    (0x1d173, 0x1d17a, "a format character"),
    (0xe0000, 0xe007f, "a tag"),
    (0xe0080, 0xe00ff, "invisible"),
    (0xe0100, 0xe01ef, "a variation selector"),
    (0xe01f0, 0xe0fff, "invisible"),
];

/// The characters of a text that a reader of it does not see, or sees in another order, as errors: at most some of them. Tabs
/// and line ends are visible enough, and a byte order mark at the start belongs to the encoding.
///
/// ```
/// let errors = callgate_formats::hidden_characters("read: 1\nwri\u{200b}te: 1\n");
/// assert_eq!(errors[0].to_string(), "2:4: U+200B is invisible");
/// assert!(callgate_formats::hidden_characters("\u{feff}# r\u{e9}sum\u{e9}\r\n\tread: 1\n").is_empty());
/// ```
pub fn hidden_characters(text: &str) -> Vec<Diagnostic> {
    let mut found = text.char_indices().filter_map(|(at, c)| Some((at, c, what(text, at, c)?)));
    let mut errors = Vec::new();
    let first: Vec<_> = found.by_ref().take(MAX_REPORTED).collect();
    if first.is_empty() {
        return errors;
    }
    let positions = Positions::new(text);
    for (at, c, what) in first {
        let message = format!("U+{:04X} is {what}", u32::from(c));
        let position: Position = positions.of(at);
        errors.push(Diagnostic::error(Some(position), message));
    }
    let more = found.count();
    if let Some(last) = errors.last_mut() {
        last.help = match more {
            0 => "remove it, or write it as an escape: with --strict, a text must be what it looks like".to_owned(),
            more => format!(
                "there are {more} more; remove them, or write them as escapes: with --strict, a text must be what it \
                 looks like"
            ),
        };
    }
    errors
}

/// What a hidden character is.
fn what(text: &str, at: usize, c: char) -> Option<&'static str> {
    if matches!(c, ' '..='~' | '\t' | '\n') {
        return None;
    }
    let is_line_end = c == '\r' && text.get(at + 1..).is_some_and(|rest| rest.starts_with('\n'));
    let is_mark = c == '\u{feff}' && at == 0;
    let code = u32::from(c);
    let next = HIDDEN.partition_point(|(_, last, _)| *last < code);
    let (first, _, what) = HIDDEN.get(next)?;
    (*first <= code && !is_line_end && !is_mark).then_some(*what)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_intervals_are_in_order() {
        assert!(HIDDEN.iter().all(|(first, last, _)| first <= last));
        assert!(HIDDEN.is_sorted_by(|(_, last, _), (first, ..)| last < first));
    }

    /// Also by the tables of the standard library.
    #[test]
    fn controls_and_blanks_are_hidden() {
        let is_hidden = |c: char| what(&format!("a{c}b"), 1, c).is_some();
        for c in ('\0'..=char::MAX).filter(|c| c.is_control() || c.is_whitespace()) {
            assert_eq!(is_hidden(c), !matches!(c, ' ' | '\t' | '\n'), "{:x}", u32::from(c));
        }
        for c in "é\u{e000}Ж中\u{301}🙂\u{ff21}".chars() {
            assert!(!is_hidden(c), "{c}");
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
