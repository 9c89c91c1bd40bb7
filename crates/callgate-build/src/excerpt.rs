//! The line of a text to which a message refers, with a mark below.

use callgate_bpf::diagnostic::Position;
use callgate_bpf::printable::is_printable;
use std::fmt::Write;

/// The maximum length of a shown line, in characters: a document may be a single line.
const WIDTH: usize = 100;

/// The characters that are shown before the mark in a longer line.
const BEFORE: usize = 60;

/// The line and a caret, with a number and a margin like those of rustc. `None` for a position behind the text.
pub(crate) fn excerpt(text: &str, position: Position) -> Option<String> {
    let line = text.lines().nth(position.line.checked_sub(1)? as usize)?;
    let column = position.column.checked_sub(1)? as usize;
    let line = line.strip_prefix('\u{feff}').unwrap_or(line);
    let length = line.chars().count();
    let first = if length <= WIDTH { 0 } else { column.saturating_sub(BEFORE) };
    let (start, end) = (if first > 0 { "…" } else { "" }, length > first + WIDTH);
    // One character for one, so that the mark is below its character.
    let visible = |c| match c {
        '\t' => ' ',
        c if is_printable(c) => c,
        _ => '\u{fffd}',
    };
    let shown: String = line.chars().skip(first).take(WIDTH).map(visible).collect();
    let indent = (column.min(length) - first.min(length)) + start.chars().count();
    let number = position.line.to_string();
    let margin = " ".repeat(number.len());
    let mut out = format!("{margin} |\n{number} | {start}{shown}");
    out.push_str(if end { "…" } else { "" });
    out.truncate(out.trim_end().len());
    let _ = write!(out, "\n{margin} | {:indent$}^", "");
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;
    use callgate_bpf::printable::HIDDEN;

    fn at(text: &str, line: u32, column: u32) -> Option<String> {
        excerpt(text, Position { line, column })
    }

    #[test]
    fn the_mark_is_below_its_character() {
        assert_eq!(at("a\n\tbé c\n", 2, 5).unwrap(), "  |\n2 |  bé c\n  |     ^");
        assert_eq!(at("\u{feff}ab", 1, 2).unwrap(), "  |\n1 | ab\n  |  ^");
        // The end of the text.
        assert_eq!(at("ab\n", 1, 3).unwrap(), "  |\n1 | ab\n  |   ^");
        assert_eq!(at("ab\n", 1, 90).unwrap(), "  |\n1 | ab\n  |   ^");
        assert_eq!(at("ab\n", 2, 1), None);
        assert_eq!(at("", 0, 0), None);
    }

    #[test]
    fn long_lines_are_cut_around_the_mark() {
        let text = format!("{}X{}", "a".repeat(500), "b".repeat(500));
        let shown = at(&text, 1, 501).unwrap();
        let lines: Vec<&str> = shown.lines().collect();
        let [_, line, mark] = lines.as_slice() else { panic!("{shown}") };
        let column = mark.chars().position(|c| c == '^').unwrap();
        assert_eq!(line.chars().nth(column), Some('X'), "{shown}");
        assert!(line.chars().count() < 110 && line.ends_with('…'), "{shown}");
    }

    #[test]
    fn hidden_characters_are_replaced() {
        for c in HIDDEN.iter().flat_map(|(first, last, _)| *first..=*last) {
            let shown = match c {
                '\n' => "a".to_owned(),
                '\t' => "a b".to_owned(),
                _ => "a\u{fffd}b".to_owned(),
            };
            assert_eq!(at(&format!("a{c}b"), 1, 1).unwrap(), format!("  |\n1 | {shown}\n  | ^"));
        }
        assert_eq!(at("عربي 中文 עברית", 1, 1).unwrap(), "  |\n1 | عربي 中文 עברית\n  | ^");
        assert_eq!(
            at("a\u{1b}[2J\u{202e}b", 1, 1).unwrap(),
            "  |\n1 | a\u{fffd}[2J\u{fffd}b\n  | ^"
        );
    }
}
