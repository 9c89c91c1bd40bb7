//! Byte offsets of positions in a text.

use callgate_bpf::diagnostic::Position;

/// The maximum number of characters that are counted for a position: after each of these, an offset is kept.
const STEP: usize = 256;

/// An index of a text, made in one pass: a profile can have a rule at each of 100,000 positions of one line.
pub(crate) struct Offsets<'t> {
    text: &'t str,
    /// For each line, the index of its first mark; at last, the number of marks.
    lines: Vec<usize>,
    /// The offsets of the first character of each line and of every [`STEP`]th one after it.
    marks: Vec<usize>,
}

/// Byte order marks have no column.
fn has_column(c: char) -> bool {
    c != '\u{feff}'
}

impl<'t> Offsets<'t> {
    pub(crate) fn new(text: &'t str) -> Offsets<'t> {
        let (mut lines, mut marks) = (Vec::new(), Vec::new());
        let mut start = 0;
        for line in text.split('\n') {
            lines.push(marks.len());
            marks.push(start);
            // The line break has a column, too.
            let end = text.len().min(start + line.len() + 1);
            let line = text.get(start..end).unwrap_or_default();
            let columns = line.char_indices().filter(|(_, c)| has_column(*c));
            marks.extend(columns.step_by(STEP).skip(1).map(|(at, _)| start + at));
            start = end;
        }
        lines.push(marks.len());
        Offsets { text, lines, marks }
    }

    /// The byte offset of a position; `None` if the text does not have it.
    pub(crate) fn of(&self, position: Position) -> Option<usize> {
        let line = position.line.checked_sub(1)? as usize;
        let column = position.column.checked_sub(1)? as usize;
        let (first, next) = (*self.lines.get(line)?, *self.lines.get(line + 1)?);
        let (mark, rest) = (first + column / STEP, column % STEP);
        if mark >= next {
            return (next == self.marks.len()).then_some(self.text.len());
        }
        let start = *self.marks.get(mark)?;
        let behind = self.text.get(start..)?;
        let mut columns = behind.char_indices().filter(|(_, c)| has_column(*c));
        Some(start + columns.nth(rest).map_or(behind.len(), |(at, _)| at))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_are_offsets() {
        let long = "é".repeat(3 * STEP) + "\n" + &"x".repeat(STEP) + "\ny";
        for text in ["ab\ncé x\n", "\u{feff}ab\ncé x\n", &long] {
            let offsets = Offsets::new(text);
            for (at, _) in text.char_indices().filter(|(_, c)| has_column(*c)) {
                assert_eq!(offsets.of(Position::of(text, at)), Some(at), "{at}");
            }
        }
        assert_eq!(Offsets::new("a\n").of(Position { line: 3, column: 1 }), None);
    }
}
