//! Lines of a text.

use std::ops::Range;

use super::edit::Edit;

/// The line with an offset, and the lines that continue it after a `\`, without the last line break.
pub(crate) fn logical_line(text: &str, at: usize) -> Range<usize> {
    let start = text.get(..at).and_then(|before| before.rfind('\n')).map_or(0, |at| at + 1);
    let mut end = start;
    loop {
        let rest = text.get(end..).unwrap_or_default();
        let line = rest.split('\n').next().unwrap_or_default();
        end += line.len();
        if !line.trim_end_matches('\r').ends_with('\\') || end >= text.len() {
            return start..end;
        }
        end += 1;
    }
}

/// Removes a line with its line break.
pub(crate) fn without(text: &str, line: Range<usize>) -> Edit {
    Edit::remove(line.start, (line.end + 1).min(text.len()))
}

/// Adds a line after another one.
pub(crate) fn after(text: &str, line: &Range<usize>, added: &str) -> Edit {
    let has_break = text.get(line.clone()).is_some_and(|line| line.ends_with('\r'));
    let end = if has_break { line.end - 1 } else { line.end };
    let eol = if has_break { "\r\n" } else { "\n" };
    Edit::insert(end, format!("{eol}{added}"))
}

/// Adds a line at the end.
pub(crate) fn at_end(text: &str, added: &str) -> Edit {
    let eol = if text.contains("\r\n") { "\r\n" } else { "\n" };
    let missing = if text.is_empty() || text.ends_with('\n') { "" } else { eol };
    Edit::insert(text.len(), format!("{missing}{added}{eol}"))
}

#[cfg(test)]
mod tests {
    use super::super::edit::apply;
    use super::*;

    #[test]
    fn continued_lines_are_one() {
        let text = "a\nb \\\n c\nd";
        assert_eq!(logical_line(text, 2), 2..8);
        assert_eq!(logical_line(text, 0), 0..1);
        assert_eq!(logical_line(text, 9), 9..10);
        assert_eq!(logical_line("a\\", 0), 0..2);
        let removed = apply(text, &[without(text, 2..8)]);
        assert_eq!(removed.as_deref(), Some("a\nd"));
    }

    #[test]
    fn added_lines_have_the_line_break_of_the_text() {
        let added = |text: &str| apply(text, &[after(text, &logical_line(text, 0), "x")]);
        assert_eq!(added("a\r\nb\r\n").as_deref(), Some("a\r\nx\r\nb\r\n"));
        assert_eq!(added("a\nb").as_deref(), Some("a\nx\nb"));
        assert_eq!(apply("a", &[at_end("a", "x")]).as_deref(), Some("a\nx\n"));
        assert_eq!(apply("a\r\nb", &[at_end("a\r\nb", "x")]).as_deref(), Some("a\r\nb\r\nx\r\n"));
    }
}
