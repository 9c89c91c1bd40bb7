//! Line and column of a byte offset, in constant time per question.
//!
//! A text of 16 MiB can have a thousand messages, so counting from the start of the text for each of them
//! would be quadratic. The positions at every 512th byte are computed once, when the first one is needed.

use std::borrow::Cow;
use std::cell::OnceCell;

use crate::statements::Site;
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

// A text and further texts that it names, whose byte offsets continue those of the first.
//
// A message about a further text has the position where the first text names it, and begins with the place in the
// further text: `in base.yaml:7:5: …`.

/// The texts.
#[derive(Debug)]
pub(crate) struct Texts<'t> {
    first: Positions<'t>,
    further: Vec<Further>,
}

#[derive(Debug)]
struct Further {
    /// The byte offset of its start.
    start: usize,
    name: String,
    /// Where the first text names it, or the text that leads to it.
    position: Position,
    positions: Positions<'static>,
}

impl<'t> Texts<'t> {
    /// One text.
    pub(crate) fn new(text: &'t str) -> Texts<'t> {
        Texts { first: Positions::new(text), further: Vec::new() }
    }

    /// Adds a text that is named at this offset. Returns the offset of its start.
    pub(crate) fn add(&mut self, name: String, text: String, named_at: usize) -> usize {
        let position = self.position(named_at);
        // The end of a text is an offset as well.
        let start = 1 + match self.further.last() {
            Some(last) => last.start + last.positions.size(),
            None => self.first.size(),
        };
        self.further.push(Further { start, name, position, positions: Positions::new(text) });
        start
    }

    /// The further text with this offset.
    fn further(&self, at: usize) -> Option<&Further> {
        self.further.iter().rev().find(|text| text.start <= at)
    }

    /// Line and column in the first text.
    pub(crate) fn position(&self, at: usize) -> Position {
        self.further(at).map_or_else(|| self.first.of(at), |text| text.position)
    }

    /// The place of an offset, in the further text if it is there.
    pub(crate) fn site(&self, at: usize) -> Site {
        match self.further(at) {
            None => Site { file: None, position: self.first.of(at) },
            Some(text) => {
                let position = text.positions.of(at - text.start);
                Site { file: Some(text.name.clone()), position }
            }
        }
    }

    /// `line:column`, after the name of a further text.
    pub(crate) fn place(&self, at: usize) -> String {
        let show = |Position { line, column }: Position| format!("{line}:{column}");
        match self.further(at) {
            None => show(self.first.of(at)),
            Some(text) => format!("{}:{}", text.name, show(text.positions.of(at - text.start))),
        }
    }

    /// A message about an offset, with the place in a further text.
    pub(crate) fn explain(&self, at: usize, message: String) -> String {
        match self.further(at) {
            None => message,
            Some(_) => format!("in {}: {message}", self.place(at)),
        }
    }
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

    #[test]
    fn offsets_of_further_texts_follow_those_of_the_first() {
        let mut texts = Texts::new("a: 1\nb: c\n");
        assert_eq!(texts.add("c".to_owned(), "x\ny".to_owned(), 8), 11);
        assert_eq!(texts.add("d".to_owned(), String::new(), 13), 15);
        let position = |line, column| Position { line, column };
        for (at, expected, place) in [
            (0, position(1, 1), "1:1"),
            (10, position(3, 1), "3:1"),
            (11, position(2, 4), "c:1:1"),
            (13, position(2, 4), "c:2:1"),
            (14, position(2, 4), "c:2:2"),
            (15, position(2, 4), "d:1:1"),
        ] {
            assert_eq!((texts.position(at), texts.place(at).as_str()), (expected, place), "{at}");
        }
        assert_eq!(texts.explain(5, "wrong".to_owned()), "wrong");
        assert_eq!(texts.explain(13, "wrong".to_owned()), "in c:2:1: wrong");
    }
}
