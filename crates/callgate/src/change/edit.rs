//! Edits of a text.

use callgate_bpf::diagnostic::Position;

/// A replacement of a part of a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Edit {
    /// The byte offset of the part.
    pub at: usize,
    /// The length of the part in bytes; 0 inserts.
    pub removed: usize,
    /// The new text.
    pub text: String,
}

impl Edit {
    /// Inserts a text.
    pub(super) fn insert(at: usize, text: impl Into<String>) -> Edit {
        Edit { at, removed: 0, text: text.into() }
    }

    /// Removes the text between two offsets.
    pub(super) fn remove(from: usize, to: usize) -> Edit {
        Edit { at: from, removed: to.saturating_sub(from), text: String::new() }
    }

    /// Replaces the text between two offsets.
    pub(super) fn replace(from: usize, to: usize, text: impl Into<String>) -> Edit {
        Edit { at: from, removed: to.saturating_sub(from), text: text.into() }
    }
}

/// Edits that may allow a syscall.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Candidate {
    /// The edits, which do not overlap.
    pub edits: Vec<Edit>,
    /// Whether they allow the syscall with all arguments, not only with the wanted ones.
    pub all_arguments: bool,
}

/// The text after these edits; `None` if they overlap or are not at characters of the text.
pub fn apply(text: &str, edits: &[Edit]) -> Option<String> {
    let mut sorted: Vec<&Edit> = edits.iter().collect();
    sorted.sort_by_key(|edit| edit.at);
    let (mut changed, mut done) = (String::with_capacity(text.len()), 0);
    for edit in sorted {
        changed.push_str(text.get(done..edit.at)?);
        changed.push_str(&edit.text);
        done = edit.at.checked_add(edit.removed)?;
    }
    changed.push_str(text.get(done..)?);
    Some(changed)
}

/// The byte offset of a position; `None` if the text does not have it.
pub(super) fn offset_of(text: &str, position: Position) -> Option<usize> {
    let mut start = 0;
    for _ in 1..position.line {
        start += text.get(start..)?.find('\n')? + 1;
    }
    let line = text.get(start..)?;
    let mut columns = line.char_indices().filter(|(_, c)| *c != '\u{feff}');
    let nth = columns.nth(position.column.checked_sub(1)? as usize);
    Some(start + nth.map_or(line.len(), |(at, _)| at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_apply_in_the_order_of_the_text() {
        let edits = [Edit::insert(3, "!"), Edit::replace(0, 1, "X")];
        assert_eq!(apply("abc", &edits).as_deref(), Some("Xbc!"));
        assert_eq!(apply("abc", &[Edit::remove(0, 2), Edit::insert(1, "x")]), None);
        assert_eq!(apply("é", &[Edit::insert(1, "x")]), None);
        assert_eq!(apply("abc", &[Edit::insert(4, "x")]), None);
    }

    #[test]
    fn positions_are_offsets() {
        for text in ["ab\ncé x\n", "\u{feff}ab\ncé x\n"] {
            for (at, _) in text.char_indices().filter(|(_, c)| *c != '\u{feff}') {
                assert_eq!(offset_of(text, Position::of(text, at)), Some(at), "{at}");
            }
        }
        assert_eq!(offset_of("a\n", Position { line: 3, column: 1 }), None);
    }
}
