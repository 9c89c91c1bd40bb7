//! Line and column of a byte offset, in constant time per question.
//!
//! A text of 16 MiB can have a thousand messages, so counting from the start of the text for each of them
//! would be quadratic. The positions at every 512th byte are computed once, when the first one is needed.

use std::borrow::Cow;
use std::cell::OnceCell;

use callgate_bpf::diagnostic::Position;

/// Distance in bytes between known positions, and so the maximum number of bytes to count per question.
const STEP: usize = 512;

/// Where a text starts.
const START: Position = Position { line: 1, column: 1 };

/// The positions in a text.
#[derive(Debug)]
pub struct Positions<'t> {
    text: Cow<'t, str>,
    /// The position of the first character that starts at or after each multiple of [`STEP`].
    steps: OnceCell<Vec<Position>>,
}

impl<'t> Positions<'t> {
    /// The positions in this text.
    pub fn new(text: impl Into<Cow<'t, str>>) -> Positions<'t> {
        Positions { text: text.into(), steps: OnceCell::new() }
    }

    /// Line and column of a byte offset; past the end, those of the end.
    pub fn of(&self, at: usize) -> Position {
        let at = at.min(self.text.len());
        let steps = self.steps.get_or_init(|| steps(&self.text));
        let start = steps.get(at / STEP).copied().unwrap_or(START);
        let from = char_boundary_from(&self.text, at / STEP * STEP).min(at);
        self.text.get(from..at).unwrap_or("").chars().fold(start, after)
    }

    /// The size of the text in bytes.
    pub(super) fn size(&self) -> usize {
        self.text.len()
    }
}

/// The first offset at or after this one at which a character starts, or the end of the text.
fn char_boundary_from(text: &str, at: usize) -> usize {
    (at..text.len()).find(|at| text.is_char_boundary(*at)).unwrap_or(text.len())
}

/// The position after a character at this position. A byte order mark has no width.
fn after(position: Position, c: char) -> Position {
    match c {
        '\n' => Position { line: position.line.saturating_add(1), column: 1 },
        '\u{feff}' => position,
        _ => Position { column: position.column.saturating_add(1), ..position },
    }
}

fn steps(text: &str) -> Vec<Position> {
    let mut steps = Vec::with_capacity(text.len() / STEP + 1);
    let mut position = START;
    for (at, c) in text.char_indices() {
        if at >= steps.len() * STEP {
            steps.push(position);
        }
        position = after(position, c);
    }
    if text.len() >= steps.len() * STEP {
        steps.push(position);
    }
    steps
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn positions_do_not_depend_on_the_order_of_questions() {
        let line = "\u{feff}é {\n\n  \"ü\": 1, \u{feff}x\n}";
        // Several steps, whose boundaries fall inside two-byte characters.
        let text = &(line.to_owned() + &"ü".repeat(STEP) + "\n" + line);
        let starts: Vec<usize> =
            text.char_indices().map(|(at, _)| at).chain([text.len()]).collect();
        let positions = Positions::new(text);
        for &first in &starts {
            for &second in starts.iter().step_by(7) {
                assert_eq!(positions.of(first), Position::of(text, first));
                assert_eq!(positions.of(second), Position::of(text, second));
            }
        }
    }
}
